package replay

import "bytes"

// Scrubber takes secrets out of texts. It answers its argument where there are none.
type Scrubber interface {
	ScrubBytes(text []byte) []byte
}

// Scrub answers the recording without the secrets the scrubber knows, and with the
// mark where there were any. A message's JSON and its raw bytes are looked at apart,
// so that it stays a message. The recording itself is left as it is.
func (r *Recording) Scrub(scrubber Scrubber) *Recording {
	c := cleaning{scrubber: scrubber}
	clean := *r
	clean.Init, clean.Input = c.data(r.Init), c.data(r.Input)
	clean.Session, clean.Call = c.text(r.Session), c.text(r.Call)
	clean.Steps = make([]Step, len(r.Steps))
	for i, step := range r.Steps {
		clean.Steps[i] = c.step(step)
	}
	clean.End.Output = c.data(r.End.Output)
	if failure := r.End.Error; failure != nil {
		clean.End.Error = &Failure{Kind: failure.Kind, Message: c.text(failure.Message), Detail: c.text(failure.Detail)}
	}
	clean.Scrubbed = r.Scrubbed || c.found
	return &clean
}

type cleaning struct {
	scrubber Scrubber
	found    bool
}

func (c *cleaning) bytes(text []byte) []byte {
	clean := c.scrubber.ScrubBytes(text)
	c.found = c.found || !bytes.Equal(clean, text)
	return clean
}

func (c *cleaning) text(text string) string { return string(c.bytes([]byte(text))) }

func (c *cleaning) data(data Data) Data {
	if data == nil {
		return nil
	}
	if body, raw, ok := framed(data); ok {
		return frame(c.bytes(body), c.bytes(raw))
	}
	return append(Data{}, c.bytes(data)...)
}

func (c *cleaning) step(step Step) Step {
	if step.Log != nil {
		line := c.text(*step.Log)
		step.Log = &line
	}
	if operation := step.Operation; operation != nil {
		clean := &Operation{Name: c.text(operation.Name), Request: c.data(operation.Request), Answer: c.data(operation.Answer)}
		if ended := operation.Ended; ended != nil {
			clean.Ended = &Ended{Kind: ended.Kind, Cause: c.text(ended.Cause)}
		}
		step.Operation = clean
	}
	return step
}
