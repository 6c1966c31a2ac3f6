module github.com/plinthhost/plinth

go 1.26.0
