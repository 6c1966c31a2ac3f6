package main

import (
	"net/url"
	"strings"
)

// enough is how many characters the main part of a page has at least; with fewer the
// page is told as a whole.
const enough = 200

// outline is what a first look at a page finds.
type outline struct {
	title string
	base  *url.URL
	main  string // the page, or its main part
	never map[string]bool
}

// look reads a page once, and finds its title, what its links are relative to, its
// main part, and the elements to leave out that are not closed, so that leaving them out
// would leave out the rest of the page.
func look(page, address string) outline {
	o := outline{main: page, never: map[string]bool{}}
	o.base, _ = url.Parse(address)
	open := map[string]int{}
	from, to, depth, inside, based := -1, -1, 0, 0, false
	s := scanner{page: page}
	for before := 0; ; before = s.at {
		found, ok := s.next()
		if !ok {
			break
		}
		switch {
		case found.kind == words:
			if from >= 0 && to < 0 {
				inside += len(strings.TrimSpace(found.body))
			}
			continue
		case found.kind == end:
			open[found.name] = max(0, open[found.name]-1)
		case leftOut[found.name]:
			open[found.name]++
		}
		switch found.name {
		case "title":
			if found.kind == start && o.title == "" && open["svg"] == 0 {
				if content, ok := s.next(); ok && content.kind == words {
					o.title = strings.Join(strings.Fields(unescape(content.body)), " ")
				}
			}
		case "base":
			if href, ok := found.attribute("href"); ok && !based && o.base != nil {
				if base, err := o.base.Parse(href); err == nil {
					o.base, based = base, true
				}
			}
		case "main":
			switch {
			case found.kind == start && from < 0:
				from, depth = s.at, 1
			case found.kind == start && to < 0:
				depth++
			case found.kind == end && from >= 0 && to < 0:
				if depth--; depth == 0 {
					to = before
				}
			}
		}
	}
	for name, left := range open {
		o.never[name] = left > 0
	}
	if to >= 0 && inside >= enough {
		o.main = page[from:to]
	}
	return o
}

// leftOut are the elements that say nothing about what a page is about.
var leftOut = map[string]bool{
	"script": true, "style": true, "noscript": true, "template": true, "iframe": true, "object": true, "svg": true, "canvas": true, "math": true, "title": true,
	"nav": true, "footer": true, "dialog": true, "button": true, "select": true, "textarea": true, "audio": true, "video": true,
}

// leads reports whether a link leads anywhere else.
func leads(href string) bool {
	href = strings.TrimSpace(href)
	scheme, _, _ := strings.Cut(href[:min(len(href), 20)], ":")
	return href != "" && href[0] != '#' && !strings.EqualFold(scheme, "javascript") && !strings.EqualFold(scheme, "data")
}

// resolve answers where a link leads, "" for one that leads nowhere else.
func (o outline) resolve(href string) string {
	if !leads(href) || o.base == nil {
		return ""
	}
	href = strings.TrimSpace(href)
	resolved, err := o.base.Parse(href)
	if err != nil {
		return ""
	}
	return inMarks.Replace(resolved.String())
}

// inMarks keeps an address from ending the marks of its link.
var inMarks = strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29")
