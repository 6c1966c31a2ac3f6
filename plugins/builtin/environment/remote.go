package main

import (
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
)

const (
	// maxPage is the longest text of an address that is told, and maxBody the most that
	// is fetched of one, in bytes. The pages fit into the plugin's store together.
	maxPage = 64 << 10
	maxBody = 1 << 20

	// A page is fetched again after freshMS, one that could not be after retryMS, and one
	// that never was after againMS.
	freshMS = 10 * 60_000
	retryMS = 2 * 60_000
	againMS = 10_000

	// A turn waits so long for pages that it has an older text of, or none. Both are
	// within what a source may take, and the clock of the call stands meanwhile.
	refreshTimeoutMS = 1000
	firstTimeoutMS   = 1500
)

// gatherRemote tells the texts of the addresses that the configuration names, in its
// order. One whose text was fetched once keeps it while it cannot be reached.
func gatherRemote(g *gathering, o abi.ContextObserve) error {
	pages := make([]page, len(configured.URLs))
	var due []*page
	for i, url := range configured.URLs {
		pages[i] = loadPage(url)
		if pages[i].due(o.NowMS) {
			due = append(due, &pages[i])
		}
	}
	if len(due) > 0 {
		refresh(due, o.NowMS)
	}
	for _, p := range pages {
		if !p.Fetched {
			return fmt.Errorf("%s could not be fetched yet", p.url)
		}
		g.tell(p)
	}
	return nil
}

func (g *gathering) tell(p page) {
	switch {
	case g.told[p.url]:
	case p.Long > 0:
		g.say(p.url, fmt.Sprintf("(This page has %d bytes. Instructions from the web of more than %d bytes are left out; ask the user to shorten it.)", p.Long, maxPage))
	case p.Text != "" && g.room(p.url, int64(len(p.Text))):
		g.put(instruction{path: p.url, digest: sha256Hex(p.Text), text: p.Text})
	}
	g.told[p.url] = true
}

// due reports whether the page is to be fetched, at an instant.
func (p page) due(now int64) bool {
	age := now - p.TriedMS
	switch {
	case p.TriedMS == 0 || age < 0:
		return true
	case !p.Fetched:
		return age >= againMS
	case p.Failed:
		return age >= retryMS
	}
	return age >= freshMS
}

// refresh fetches pages side by side and keeps what becomes of them.
func refresh(pages []*page, now int64) {
	var batch host.Batch
	queued := make([]host.Queued[abi.HTTPFetched], len(pages))
	for i, p := range pages {
		queued[i] = host.Queue[abi.HTTPFetch, abi.HTTPFetched](&batch, abi.OpHTTPFetch, p.request())
	}
	failed := batch.Run()
	for i, p := range pages {
		err := failed
		if err == nil {
			err = p.take(queued[i])
		}
		if p.TriedMS, p.Failed = now, err != nil; err != nil {
			host.Log("warn", fmt.Sprintf("instructions from %s: %v", p.url, err))
		}
		p.save()
	}
	forgetOthers()
}

func (p page) request() abi.HTTPFetch {
	headers := map[string]string{"Accept": "text/markdown, text/plain, */*;q=0.5"}
	timeout := int64(firstTimeoutMS)
	if p.Fetched {
		timeout = refreshTimeoutMS
		if p.ETag != "" {
			headers["If-None-Match"] = p.ETag
		}
		if p.Modified != "" {
			headers["If-Modified-Since"] = p.Modified
		}
	}
	return abi.HTTPFetch{URL: p.url, Headers: headers, MaxBytes: maxBody, TimeoutMS: timeout}
}

// take reads the answer to the page's request.
func (p *page) take(queued host.Queued[abi.HTTPFetched]) error {
	answer, raw, err := queued.Get()
	switch {
	case err != nil:
		return err
	case answer.Status == 304 && p.Fetched:
		return nil
	case answer.Status != 200:
		return fmt.Errorf("the server answers %d", answer.Status)
	case answer.Body == nil:
		return errors.New("the answer has no body")
	}
	body, err := answer.Body.Of(raw)
	if err != nil {
		return err
	}
	p.Fetched, p.Text, p.Long = true, "", 0
	p.ETag, p.Modified = validator(answer.Headers["etag"]), validator(answer.Headers["last-modified"])
	if len(body) > maxPage {
		p.Long = int64(len(body))
		return nil
	}
	p.Text = clean(body)
	return nil
}

// validator is a header that can be sent back, or "".
func validator(header string) string {
	for i := range len(header) {
		if header[i] < 0x20 || header[i] > 0x7e {
			return ""
		}
	}
	if len(header) > 256 {
		return ""
	}
	return header
}
