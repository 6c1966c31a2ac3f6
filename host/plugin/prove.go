package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
)

// goldenDeadline bounds one call of a golden. It is not the kind's own: a golden
// shows what is answered, not how fast.
const goldenDeadline = 10 * time.Second

// Proof is how a golden came out.
type Proof struct {
	Golden Golden
	// Err is nil when the plugin answers what was recorded, twice on one instance.
	// Otherwise a *GoldenMismatch, or a *GoldenError when there was no answer, or one of a
	// tool that does not fit the schema of its output.
	Err error
	// Answer is what the plugin answered to the first call; nil when that was no answer.
	Answer   json.RawMessage
	Duration time.Duration // of the first call
	Fuel     int64         // likewise, in units of meter.Version
	Memory   uint32        // of the instance afterwards, in bytes
	Log      []string      // what the plugin printed or logged in the first call
}

// GoldenMismatch is a plugin that does not do what was recorded.
type GoldenMismatch struct {
	Input, Output string
	// Again: the first call was right, and a second one on the same instance was not.
	Again       bool
	Differences []Difference // at most 20; of the operations, or else of the answer
}

// Operations reports whether the plugin asks the host for something else than recorded.
func (e *GoldenMismatch) Operations() bool {
	return strings.HasPrefix(e.Differences[0].Path, "operations[")
}

// Reason says in one line what is wrong.
func (e *GoldenMismatch) Reason() string {
	reason := "the answer is not what " + e.Output + " holds"
	if e.Operations() {
		reason = "the plugin makes other operations than recorded"
	}
	if e.Again {
		reason = "a second call on the same instance does not repeat the first: " + reason
	}
	return reason
}

func (e *GoldenMismatch) Error() string {
	var text strings.Builder
	text.WriteString(e.Input + ": " + e.Reason())
	for _, difference := range e.Differences {
		text.WriteString("\n  " + difference.String())
	}
	text.WriteString("\nCorrect the plugin, or record the golden anew if the change is meant.")
	return text.String()
}

// Prove runs goldens as the host runs the candidate: the same engine, limits and
// start, with the recorded operations in place of the host's. It fails when the
// module does not load or ctx ends; what a golden shows is in its proof.
func Prove(ctx context.Context, engine *wasm.Engine, candidate Candidate, goldens []Golden) ([]Proof, error) {
	modules := map[string]*wasm.Module{} // by settings: they go in at the start of an instance
	proofs := make([]Proof, 0, len(goldens))
	var err error
	for _, golden := range goldens {
		module, ok := modules[string(golden.Config)]
		if !ok {
			if module, err = loadFor(ctx, engine, candidate, golden); err != nil {
				break
			}
			modules[string(golden.Config)] = module
		}
		proof := prove(ctx, module, golden)
		if proof.Err == nil {
			proof.Err = proof.promised(candidate.Manifest)
		}
		if err = context.Cause(ctx); err != nil {
			break
		}
		proofs = append(proofs, proof)
	}
	for _, module := range modules {
		err = errors.Join(err, module.Close())
	}
	return proofs, err
}

func loadFor(ctx context.Context, engine *wasm.Engine, candidate Candidate, golden Golden) (*wasm.Module, error) {
	var settings map[string]any
	if golden.Config != nil {
		if err := json.Unmarshal(golden.Config, &settings); err != nil {
			return nil, &GoldenError{File: golden.Input, Field: "config", Err: errors.New("it must be an object, the plugin's settings")}
		}
	}
	config, err := checkConfig(candidate.Manifest, settings)
	if err != nil {
		return nil, &GoldenError{File: golden.Input, Field: "config", Err: err}
	}
	return load(ctx, engine, candidate, config)
}

// Load loads a candidate as the host does, under the limits of its manifest, with settings
// for the plugin: an object in JSON, nil for none. Settings that do not fit its schema are
// an error that names the field.
func Load(ctx context.Context, engine *wasm.Engine, candidate Candidate, settings json.RawMessage) (*wasm.Module, error) {
	var given map[string]any
	if settings != nil {
		if err := json.Unmarshal(settings, &given); err != nil {
			return nil, fmt.Errorf("the settings must be an object in JSON: %w", err)
		}
	}
	config, err := checkConfig(candidate.Manifest, given)
	if err != nil {
		return nil, err
	}
	return load(ctx, engine, candidate, config)
}

func load(ctx context.Context, engine *wasm.Engine, candidate Candidate, config json.RawMessage) (*wasm.Module, error) {
	spec, err := specOf(candidate, config, abi.ManifestLimits{})
	if err != nil {
		return nil, err
	}
	return engine.Load(ctx, spec)
}

// prove makes the call twice; the session keeps both on one instance.
func prove(ctx context.Context, module *wasm.Module, golden Golden) Proof {
	proof := Proof{Golden: golden}
	message, err := json.Marshal(abi.Call[json.RawMessage]{
		DeadlineMS: goldenDeadline.Milliseconds(), Meta: abi.Meta{Plugin: module.Name()}, Body: golden.Body,
	})
	if err != nil {
		proof.Err = &GoldenError{File: golden.Input, Err: err}
		return proof
	}
	for again := range 2 {
		recording := &answers{recorded: golden.Operations}
		log := func(string) {}
		if again == 0 {
			log = func(line string) { proof.Log = append(proof.Log, line) }
		}
		result, err := module.Call(ctx, wasm.Request{Entry: golden.Entry, Input: abi.EncodeMessage(message, nil),
			Deadline: goldenDeadline, Session: "golden " + golden.Input, Operations: recording, Log: log})
		if again == 0 {
			proof.Duration, proof.Fuel, proof.Memory = result.Duration, result.Fuel, result.Memory
			if answer, _, decoding := abi.DecodeMessage(result.Output); err == nil && decoding == nil && checkAnswer(answer) == nil {
				proof.Answer = answer
			}
		}
		differences := recording.differences()
		if err == nil && len(differences) == 0 {
			differences, err = compareAnswer(result.Output, golden.Answer)
		}
		switch {
		case len(differences) > 0:
			proof.Err = &GoldenMismatch{Input: golden.Input, Output: golden.Output, Again: again == 1, Differences: differences}
			return proof
		case err != nil:
			proof.Err = &GoldenError{File: golden.Input, Err: withDeadline(err)}
			return proof
		}
	}
	return proof
}

// withDeadline says how long a golden may take where that was too long.
func withDeadline(err error) error {
	if errors.Is(err, wasm.ErrDeadline) {
		return fmt.Errorf("%w; a golden has %s, whatever the manifest says: let it end sooner", err, goldenDeadline)
	}
	return err
}

// promised holds a tool's answer to the schema that the manifest promises.
func (p Proof) promised(manifest abi.Manifest) error {
	var answer abi.Answer[json.RawMessage]
	if json.Unmarshal(p.Answer, &answer) != nil || answer.OK == nil {
		return nil
	}
	if err := CheckOutput(manifest, p.Golden, *answer.OK); err != nil {
		return &GoldenError{File: p.Golden.Output, Err: err}
	}
	return nil
}

func compareAnswer(message, want []byte) ([]Difference, error) {
	got, _, err := abi.DecodeMessage(message)
	if err != nil {
		return nil, err
	}
	differences, err := compareJSON("", got, want)
	if err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %w", err)
	}
	return differences, nil
}

// answers gives operations their answers from a recording. After the first that is not the
// recorded one there is nothing left to answer from.
type answers struct {
	recorded []GoldenOperation
	next     int
	found    []Difference
}

// Call answers the next operation.
func (r *answers) Call(_ context.Context, operation string, request []byte) []byte {
	if len(r.found) == 0 {
		r.found = r.judge(operation, request)
		r.next++
	}
	if len(r.found) > 0 {
		return abi.EncodeMessage([]byte(`{"error":{"kind":"failed","message":"the golden has not recorded this operation"}}`), nil)
	}
	return r.recorded[r.next-1].Answer
}

func (r *answers) judge(operation string, request []byte) []Difference {
	path := fmt.Sprintf("operations[%d]", r.next)
	body, _, err := abi.DecodeMessage(request)
	if err != nil || !json.Valid(body) {
		return []Difference{{Path: path + ".request", Got: encoded("no message with JSON in it"), Want: encoded("the operation's request")}}
	}
	made := map[string]any{"op": operation, "request": json.RawMessage(body)}
	if r.next == len(r.recorded) {
		return []Difference{{Path: path, Got: encoded(made)}}
	}
	recorded := r.recorded[r.next]
	if recorded.Name != operation {
		return []Difference{{Path: path, Got: encoded(made), Want: encoded(map[string]any{"op": recorded.Name, "request": recorded.Request})}}
	}
	differences, err := compareJSON(path+".request", body, recorded.Request)
	if err != nil {
		return []Difference{{Path: path + ".request", Got: encoded(err.Error()), Want: recorded.Request}}
	}
	return differences
}

// differences answers also what was recorded and not asked for.
func (r *answers) differences() []Difference {
	if len(r.found) > 0 || r.next == len(r.recorded) {
		return r.found
	}
	missing := r.recorded[r.next]
	return []Difference{{Path: fmt.Sprintf("operations[%d]", r.next),
		Want: encoded(map[string]any{"op": missing.Name, "request": missing.Request})}}
}
