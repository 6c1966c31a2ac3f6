// Package markdown reads folders of Markdown files that begin with front matter: the
// agents, commands and skills that people keep as files.
//
//	files := markdown.New(func(file markdown.File) (Rule, error) {
//		var front struct{ Description string }
//		err := file.Front(&front)
//		return Rule{front.Description, file.Body}, err
//	})
//	rules, wrong := files.In(markdown.Folder{Path: "/home/me/.config/plinth/agents"}, "")
//
// A file that did not change is not read again. What is wrong with one is an *Error that
// names file and line, and keeps none of the others out.
package markdown
