package wire

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// Cache says which places of a request are marked for the provider to cache all up to
// there: the record "cache" of a request's options, for protocols with such marks.
type Cache struct {
	Tools  bool // the last tool
	System bool // the last system part
	// Messages is "" for none, Rounds, LatestUser, LatestAssistant, or Tail.
	Messages string
	Tail     int // of Tail: the last so many turns
	// Hour asks for an hour in the place of five minutes.
	Hour bool
}

// Values of Cache.Messages.
const (
	Rounds          = "rounds" // the last two turns of the user's side, results of tools too
	LatestUser      = "latest-user"
	LatestAssistant = "latest-assistant"
	Tail            = "tail"
)

const (
	maxMarks    = 4 // of a request
	maxRounds   = 2
	hourSeconds = 3600
)

// Auto is what is marked unless the options say otherwise: what stays from step to
// step. Of the two rounds the earlier is where the step before wrote to the cache, which
// this one reads, and the later is where it writes. A compaction and a title are asked
// for once, so nothing of them is.
func Auto(purpose string) Cache {
	if purpose == "compaction" || purpose == "title" {
		return Cache{}
	}
	return Cache{Tools: true, System: true, Messages: Rounds}
}

// ReadCache reads the record "cache": "auto", "none", or an object with what is to be
// marked,
//
//	{"tools": true, "system": true, "messages": "latest-user", "ttl_seconds": 3600}
//
// where messages may be "rounds", "latest-assistant" and {"tail": N} too. Without the record, and
// for "auto", it answers auto.
func ReadCache(records map[string]json.RawMessage, auto Cache) (Cache, error) {
	record := bytes.TrimSpace(records["cache"])
	switch string(record) {
	case "", "null", `"auto"`:
		return auto, nil
	case `"none"`:
		return Cache{}, nil
	}
	var fields struct {
		Tools    bool            `json:"tools"`
		System   bool            `json:"system"`
		Messages json.RawMessage `json:"messages"`
		TTL      *float64        `json:"ttl_seconds"`
	}
	if record[0] != '{' {
		return Cache{}, plinth.Errorf(abi.KindInvalidInput, `options.cache is %s; it is "auto", "none" or an object`, Clip(string(record)))
	}
	if err := readStrictly(record, &fields); err != nil {
		return Cache{}, plinth.Errorf(abi.KindInvalidInput, "options.cache: %v; it may hold tools, system, messages and ttl_seconds", err)
	}
	c := Cache{Tools: fields.Tools, System: fields.System}
	if fields.TTL != nil {
		if *fields.TTL <= 0 {
			return Cache{}, plinth.Errorf(abi.KindInvalidInput, "options.cache.ttl_seconds is %v; it is more than 0", *fields.TTL)
		}
		c.Hour = *fields.TTL >= hourSeconds
	}
	// Not in one line with the return: which of the two comes first is the compiler's.
	err := c.readMessages(fields.Messages)
	return c, err
}

func (c *Cache) readMessages(value json.RawMessage) error {
	switch string(value) {
	case "", "null":
		return nil
	case `"` + Rounds + `"`, `"` + LatestUser + `"`, `"` + LatestAssistant + `"`:
		c.Messages = string(value[1 : len(value)-1])
		return nil
	}
	var fields struct {
		Tail int `json:"tail"`
	}
	if err := readStrictly(value, &fields); err != nil || fields.Tail < 1 || fields.Tail > maxMarks {
		return plinth.Errorf(abi.KindInvalidInput, `options.cache.messages is %s; it is %q, %q, %q or {"tail": N} with N from 1 to %d`,
			Clip(string(value)), Rounds, LatestUser, LatestAssistant, maxMarks)
	}
	c.Messages, c.Tail = Tail, fields.Tail
	return nil
}

// readStrictly decodes JSON that may have no other fields.
func readStrictly(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// MarkTurns marks the parts that the messages' share of the marks is for. Spent is how
// many are used on tools and the system text; where there are too few left, the earlier
// turns go without.
func (c Cache) MarkTurns(turns []Turn, spent int) {
	left := maxMarks - spent
	switch c.Messages {
	case Rounds:
		left = min(left, maxRounds)
	case Tail:
		left = min(left, c.Tail)
	}
	for _, turn := range slices.Backward(turns) {
		if left <= 0 {
			return
		}
		switch c.Messages {
		case LatestUser, LatestAssistant:
			if c.markLatest(turn) {
				return
			}
		case Rounds, Tail:
			if (turn.Role == abi.RoleUser || turn.Role == abi.RoleAssistant && c.Messages == Tail) && markLast(turn.Parts, func(TurnPart) bool { return true }) {
				left--
			}
		}
	}
}

// markLatest marks the last text of the turn if it is the role's that is asked for, or
// what else is last there.
func (c Cache) markLatest(turn Turn) bool {
	role := abi.RoleUser
	if c.Messages == LatestAssistant {
		role = abi.RoleAssistant
	}
	said := func(p TurnPart) bool { return p.From == role }
	return markLast(turn.Parts, func(p TurnPart) bool { return said(p) && p.Type == abi.PartText }) || markLast(turn.Parts, said)
}

// markLast marks the last of the parts that is wanted and can be marked: reasoning
// cannot, and what a provider's own tools did may not be in the request.
func markLast(parts []TurnPart, wanted func(TurnPart) bool) bool {
	for i := range slices.Backward(parts) {
		if p := &parts[i]; wanted(*p) && p.Type != abi.PartReasoning && !p.Hosted {
			p.Mark = true
			return true
		}
	}
	return false
}
