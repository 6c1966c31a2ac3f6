package share

import (
	"encoding/json"
	"io"
)

// document is the transcript for programs:
//
//	{"format":"plinth.share","version":1,"title":"…","created":"…","agent":"…","model":"…","entries":[…]}
type document struct {
	to   io.Writer
	more bool
}

func (d *document) begin(h head) error {
	head, err := json.Marshal(struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
		Title   string `json:"title"`
		Created string `json:"created"`
		Agent   string `json:"agent"`
		Model   string `json:"model"`
	}{"plinth.share", 1, h.Title, h.Created, h.Agent, h.Model})
	if err != nil {
		return err
	}
	_, err = d.to.Write(append(head[:len(head)-1], `,"entries":[`...))
	return err
}

func (d *document) entry(e Entry) error {
	encoded, err := json.Marshal(e)
	if err != nil {
		return err
	}
	before := "\n"
	if d.more {
		before = ",\n"
	}
	d.more = true
	_, err = d.to.Write(append([]byte(before), encoded...))
	return err
}

func (d *document) end() error {
	_, err := io.WriteString(d.to, "\n]}\n")
	return err
}
