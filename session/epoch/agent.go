package epoch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// AgentKey is the source that tells the model what it works as.
const AgentKey = session.AgentSource

// Agent is the kernel's own source: the system text of the session's agent, or else
// of its model, and the agent's reminder. It is absent when there is no text.
type Agent struct {
	Agents *session.Agents
	Agent  session.Agent
	Model  session.ModelInfo
	// Unknown: there is no such agent or model now, so nothing can be told.
	Unknown bool
}

// agentValue is what is remembered of the text.
type agentValue struct {
	Agent  string `json:"agent"`
	SHA256 string `json:"sha256"` // of the text
}

const agentSchema = `{"type":"object","required":["agent","sha256"],"additionalProperties":false,
"properties":{"agent":{"type":"string","minLength":1},"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"}}}`

// Keys is AgentKey.
func (a Agent) Keys() []string { return []string{AgentKey} }

// Spec gives the schema of the value.
func (a Agent) Spec() session.SourceSpec {
	return session.SourceSpec{Schemas: map[string]json.RawMessage{AgentKey: json.RawMessage(agentSchema)}}
}

// Observe tells the text; when the agent changed, with what the former one leaves.
func (a Agent) Observe(_ context.Context, observation session.Observation) ([]session.SourceState, error) {
	base := a.Agent.System
	if base == "" {
		base = a.Model.System
	}
	text := paragraphs(base, a.Agent.Reminder)
	state := session.SourceState{Key: AgentKey}
	switch {
	case a.Unknown:
		state.State = session.SourceUnavailable
		return []session.SourceState{state}, nil
	case strings.TrimSpace(text) == "":
		state.State = session.SourceAbsent
		return []session.SourceState{state}, nil
	}
	sum := sha256.Sum256([]byte(text))
	value, err := json.Marshal(agentValue{Agent: a.Agent.Name, SHA256: hex.EncodeToString(sum[:])})
	if err != nil {
		return nil, fmt.Errorf("encode the value of %s: %w", AgentKey, err)
	}
	state.State, state.Value, state.Baseline = session.SourceValue, value, text
	state.Removed = paragraphs(fmt.Sprintf("You no longer work as the agent %s. What you were told as that agent no longer applies.", a.Agent.Name), a.Agent.Leaving)
	if previous, ok := observation.Previous[AgentKey]; ok {
		if state.Update, err = a.update(previous, text); err != nil {
			return nil, err
		}
	}
	return []session.SourceState{state}, nil
}

func (a Agent) update(previous json.RawMessage, text string) (string, error) {
	var former agentValue
	if err := json.Unmarshal(previous, &former); err != nil {
		return "", fmt.Errorf("decode the value of %s: %w", AgentKey, err)
	}
	if former.Agent == a.Agent.Name {
		return paragraphs(fmt.Sprintf("What you are told as the agent %s has changed. This is the whole of it now; it takes the place of what you were told before as that agent.",
			a.Agent.Name), text), nil
	}
	leaving := ""
	if known, ok := a.Agents.Agent(former.Agent); ok {
		leaving = known.Leaving
	}
	return paragraphs(leaving, fmt.Sprintf("You now work as the agent %s. What you were told as the agent %s no longer applies; this does:",
		a.Agent.Name, former.Agent), text), nil
}

// paragraphs joins the texts that are not empty.
func paragraphs(texts ...string) string {
	var kept []string
	for _, text := range texts {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, separator)
}
