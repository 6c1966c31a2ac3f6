package share

import (
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"time"
)

//go:embed page.html
var pageText string

// page is a file that needs nothing else: no script, no font, no request. The template
// escapes whatever a transcript has.
type page struct {
	to       io.Writer
	template *template.Template
}

func newPage(to io.Writer) (*page, error) {
	parsed, err := template.New("page").Funcs(template.FuncMap{"picture": picture, "when": func(t time.Time) string { return date(t.UnixMilli()) }}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	return &page{to: to, template: parsed}, nil
}

func (p *page) begin(h head) error  { return p.template.ExecuteTemplate(p.to, "begin", h) }
func (p *page) entry(e Entry) error { return p.template.ExecuteTemplate(p.to, "entry", e) }
func (p *page) end() error          { return p.template.ExecuteTemplate(p.to, "end", nil) }

// picture is the address of an image in the page. Its type is one of a few.
func picture(part Part) template.URL {
	if !isImage(part.Mime) {
		return ""
	}
	return template.URL("data:" + part.Mime + ";base64," + base64.StdEncoding.EncodeToString(part.Data))
}

func date(milliseconds int64) string {
	return time.UnixMilli(milliseconds).UTC().Format("2006-01-02 15:04 UTC")
}
