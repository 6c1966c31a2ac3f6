package docs

import (
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/binary"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
)

const limitsPage = "docs/reference/limits.md"

// limit is a row of a table of limits.
type limit struct{ name, value, told, place string }

// TestLimits holds docs/reference/limits.md to the limits of the code: their numbers,
// and what is said by whoever reaches one.
func TestLimits(t *testing.T) {
	tables := map[string]table{}
	for name, rows := range map[string][]limit{
		"module": moduleLimits(t), "plugin": pluginLimits(t), "engine": engineLimits(t), "kinds": kindLimits(t),
		"operations": operationLimits(t), "goldens": goldenLimits(t),
	} {
		w := table{head: []string{"limit", "value", "what is said", "in the code", "where it is changed, and what happens"}, written: 1}
		for _, row := range rows {
			w.rows = append(w.rows, []string{row.name, row.value, orNone(code(row.told)), code(row.place)})
		}
		tables[name] = w
	}
	settable := table{head: []string{"key of `[limits]`", "when it is left out", "at most"}}
	own := figuresOf(t, "host/plugin")
	defaults := wasm.Limits{}.WithDefaults()
	preset := map[string]int{
		"memory_mib": defaults.MemoryMiB, "instances": defaults.Instances, "pool_mib": defaults.PoolMiB,
		"wait_ms": int(defaults.Wait.Milliseconds()), "start_ms": int(defaults.Start.Milliseconds()), "stack_kib": defaults.StackKiB,
		"output_kib": defaults.OutputBytes >> 10, "log_kib": defaults.LogBytes >> 10, "operations": defaults.Operations,
	}
	for field := range reflect.TypeFor[abi.ManifestLimits]().Fields() {
		key := field.Tag.Get("toml")
		value := "no bound"
		if preset[key] > 0 {
			value = grouped(preset[key])
		}
		if key == "memory_mib" {
			value += fmt.Sprintf("; with a provider %d", own.constant("memoryProvider"))
		}
		settable.rows = append(settable.rows, []string{code(key), value, grouped(own.element("limits", key))})
	}
	tables["settable"] = settable
	hold(t, limitsPage, tables)
}

// moduleLimits are those of a module's form.
func moduleLimits(t *testing.T) []limit {
	form := "the file has %d bytes, the limit"
	rows := []limit{
		{"the file with all custom sections", mib(wasm.MaxFileBytes), told(t, "host/wasm", form), "wasm.MaxFileBytes"},
		{"the module without them", mib(wasm.MaxModuleBytes), told(t, "host/wasm", "the module has %d bytes, the limit"), "wasm.MaxModuleBytes"},
		{"memory it starts with", "`memory_mib`", told(t, "host/wasm", "it starts with %d KiB of memory"), "wasm.Limits.MemoryMiB"},
	}
	counted := map[string]string{
		"CustomSections": "custom sections", "NameBytes": "bytes in a name", "Types": "types", "Params": "parameters of a type",
		"Results": "results of a type", "Imports": "imports", "Exports": "exports", "Functions": "functions", "Tables": "tables",
		"TableEntries": "entries in a table", "MemoryPages": "pages of memory at the start", "Globals": "globals",
		"Elements": "element segments", "ElementEntries": "entries in element segments", "DataSegments": "data segments",
		"BodyBytes": "bytes in a function", "Locals": "locals in a function", "LocalGroups": "groups of locals in all functions",
		"Nesting": "blocks in each other", "Targets": "labels in a br_table", "TargetsTotal": "labels in all br_table",
	}
	limits := reflect.ValueOf(binary.DefaultLimits())
	for i, field := range reflect.VisibleFields(limits.Type()) {
		if field.Type.Kind() != reflect.Int || field.Name == "ModuleBytes" {
			continue
		}
		what, ok := counted[field.Name]
		if !ok {
			t.Errorf("binary.Limits.%s: say in this test what it counts", field.Name)
			continue
		}
		told(t, "host/wasm/binary", what)
		n := grouped(int(limits.Field(i).Int()))
		rows = append(rows, limit{what, n, "parse at byte …: … " + what + ", the limit is " + strings.ReplaceAll(n, ",", ""), "binary.Limits." + field.Name})
	}
	compile := figuresOf(t, "host/wasm")
	memory := compile.argument("withDefaults", "l.MemoryMiB")
	return append(rows,
		limit{"memory to compile it", fmt.Sprintf("%s MiB", grouped(memory)), engineSays(t, "MiB of memory to compile it", "CompileLimits.MemoryMiB", memory), "wasm.CompileLimits.MemoryMiB"},
		limit{"processor time to compile it", seconds(compile.argument("withDefaults", "l.Base")) + ", and " + seconds(compile.argument("withDefaults", "l.PerMiB")) + " for each MiB",
			engineSays(t, "milliseconds of processor time to compile it", "CompileLimits.Base and PerMiB", 0), "wasm.CompileLimits.Base, PerMiB"})
}

// pluginLimits are those of the manifest and of a packed plugin.
func pluginLimits(t *testing.T) []limit {
	own := figuresOf(t, "host/plugin")
	size := told(t, "host/plugin", "it has %d bytes, the limit is %d")
	return []limit{
		{"`plugin.toml`", kib(plugin.MaxManifestBytes), size, "plugin.MaxManifestBytes"},
		{"a schema file", kib(plugin.MaxManifestBytes), size, "plugin.MaxManifestBytes"},
		{"the manifest with its schemas in it", mib(plugin.MaxPackedManifestBytes), told(t, "host/plugin", "with its schemas it has"), "plugin.MaxPackedManifestBytes"},
		{"a file of a golden", mib(plugin.MaxGoldenBytes), size, "plugin.MaxGoldenBytes"},
		{"all files of the goldens", mib(plugin.MaxFilesBytes), told(t, "host/plugin", "the files of its goldens have"), "plugin.MaxFilesBytes"},
		{"a packed plugin", mib(wasm.MaxFileBytes), told(t, "host/wasm", "the file has %d bytes, the limit"), "wasm.MaxFileBytes"},
		{"a plugin that is fetched from an address", mib(plugin.MaxDownloadBytes), told(t, "host/plugin", "the file is larger than %d bytes, the limit of a plugin"), "plugin.MaxDownloadBytes"},
		{"the time to fetch it", seconds(int(plugin.MaxDownloadTime)), told(t, "host/plugin", "the download took more than"), "plugin.MaxDownloadTime"},
		{"`id`", fmt.Sprintf("%d bytes", own.constant("maxIDBytes")), size, "plugin.maxIDBytes"},
		{"`version`", fmt.Sprintf("%d bytes", own.constant("maxVersionBytes")), size, "plugin.maxVersionBytes"},
		{"`tool.name`", "64 characters", told(t, "host/plugin", "must begin with a letter and have at most 64"), "plugin.toolPattern"},
		{"`tool.timeout_ms`", grouped(own.constant("maxTimeoutMS")) + ", a day", told(t, "host/plugin", "of the tool %s: it is %d"), "plugin.maxTimeoutMS"},
		{"`transform.timeout_ms`", grouped(int(bridge.MaxTransformDeadline.Milliseconds())), told(t, "host/plugin", "of the transform %s: it is %d"), "bridge.MaxTransformDeadline"},
		{"a key of `[limits]`", "[see below](#what-a-manifest-can-set)", told(t, "host/plugin", "it is %d; it must be from 1 to %d, or 0 for the default"), "plugin.limits"},
	}
}

// engineLimits are those of a call, whatever it does.
func engineLimits(t *testing.T) []limit {
	l := wasm.Limits{}.WithDefaults()
	engine := figuresOf(t, "host/wasm")
	all := engine.argument("New", "options.MemoryMiB")
	return []limit{
		{"memory of an instance", fmt.Sprintf("%d MiB", l.MemoryMiB), "", "wasm.Limits.MemoryMiB"},
		{"memory of all plugins", grouped(all) + " MiB", engineSays(t, "bytes of memory of all guests", "Options.MemoryMiB", all<<20), "wasm.Options.MemoryMiB"},
		{"growth that a later call keeps", mib(engine.constant("maxGrowth")), "", "wasm.maxGrowth"},
		{"stack", kib(l.StackKiB << 10), engineSays(t, "bytes of stack", "StackKiB", l.StackKiB<<10), "wasm.Limits.StackKiB"},
		{"fuel", "no bound", engineSays(t, "fuel of a call", "Fuel", 1_000_000), "wasm.Limits.Fuel"},
		{"running time", "by the [kind](#by-kind)", told(t, "host/wasm", "deadline passed"), "wasm.Limits.Deadline"},
		{"time to start, `plinth_init` included", seconds(int(l.Start)), told(t, "host/wasm", "an instance does not start within ") + "…", "wasm.Limits.Start"},
		{"instances that work at a time", fmt.Sprint(l.Instances), "", "wasm.Limits.Instances"},
		{"memory of the instances in use", fmt.Sprintf("%d MiB", l.PoolMiB), "", "wasm.Limits.PoolMiB"},
		{"waiting for an instance or a processor", seconds(int(l.Wait)), told(t, "host/wasm", "no free instance"), "wasm.Limits.Wait"},
		{"message of a call", mib(l.InputBytes), engineSays(t, "bytes of input", "InputBytes", l.InputBytes), "wasm.Limits.InputBytes"},
		{"answer", mib(l.OutputBytes), told(t, "host/wasm", "it claims %d bytes, the limit is"), "wasm.Limits.OutputBytes"},
		{"what a call prints", kib(l.LogBytes), told(t, "host/wasm", "the log is cut off here"), "wasm.Limits.LogBytes"},
		{"a line that is printed", kib(engine.constant("maxLogLine")), "", "wasm.maxLogLine"},
		{"operations of a call", grouped(l.Operations), told(t, "host/bridge", "operations, which is the limit"), "wasm.Limits.Operations"},
		{"request of an operation", mib(l.OperationBytes), engineSays(t, "bytes of an operation's request", "OperationBytes", l.OperationBytes), "wasm.Limits.OperationBytes"},
		{"answer of an operation", mib(l.OperationBytes), engineSays(t, "bytes of an operation's answer", "OperationBytes", l.OperationBytes), "wasm.Limits.OperationBytes"},
		{"work after a cancelled operation", grouped(engine.constant("graceFuel")) + " units of fuel", "", "wasm.graceFuel"},
		{"calls of a `sticky` instance", grouped(l.StickyCalls), "", "wasm.Limits.StickyCalls"},
		{"age of a `sticky` instance", fmt.Sprintf("%g h", l.StickyAge.Hours()), "", "wasm.Limits.StickyAge"},
		{"memory outside of an Extism module", fmt.Sprintf("%d MiB", l.HandleMiB), engineSays(t, "bytes of Extism memory in one call", "HandleMiB", l.HandleMiB<<20), "wasm.Limits.HandleMiB"},
		{"blocks of an Extism module", grouped(l.Handles), engineSays(t, "blocks of Extism memory in one call", "Handles", l.Handles), "wasm.Limits.Handles"},
		{"variables of an Extism module", mib(l.VariableBytes), engineSays(t, "bytes of variables", "VariableBytes", l.VariableBytes), "wasm.Limits.VariableBytes"},
	}
}

// kindLimits are those of a tool, a context source, a provider and a transform.
func kindLimits(t *testing.T) []limit {
	own, turn := figuresOf(t, "host/bridge"), figuresOf(t, "session/runner")
	part := figuresOf(t, "session/runner").constant("MaxPartBytes")
	return []limit{
		{"tool: running time", seconds(int(bridge.DefaultToolTimeout)), told(t, "host/bridge", "did not answer within"), "bridge.DefaultToolTimeout"},
		{"tool: text that the model reads", grouped(session.DefaultOutputLines) + " lines, " + kib(session.DefaultOutputBytes), "", "session.DefaultOutputLines, DefaultOutputBytes"},
		{"tool: calls of one answer of the model", grouped(runner.DefaultConfig().MaxCalls), "", "runner.Config.MaxCalls"},
		{"tool: calls side by side in a session", grouped(runner.DefaultConfig().MaxParallelTools), "", "runner.Config.MaxParallelTools"},
		{"tool: what the host keeps for a call", mib(bridge.MaxKeptBytes), told(t, "host/bridge", "the call keeps more than"), "bridge.MaxKeptBytes"},
		{"context source: running time, all keys together", milliseconds(bridge.ContextDeadline), "", "bridge.ContextDeadline"},
		{"context source: time with all waiting", seconds(int(runner.DefaultConfig().ContextTimeout)), "", "runner.Config.ContextTimeout"},
		{"context source: a text, the value", kib(bridge.MaxSourceBytes), told(t, "host/bridge", "the source %s has %d bytes"), "bridge.MaxSourceBytes"},
		{"context source: `directories`", grouped(turn.constant("maxDirectories")), "", "runner.maxDirectories"},
		{"transform: running time", milliseconds(bridge.TransformDeadline), "", "bridge.TransformDeadline"},
		{"provider: running time of encode and classify", seconds(int(bridge.EncodeDeadline)), "", "bridge.EncodeDeadline"},
		{"provider: running time of decode", milliseconds(bridge.FrameDeadline) + " a frame", "", "bridge.FrameDeadline"},
		{"provider: frames of a call", grouped(own.constant("maxFramesPerCall")), "", "bridge.maxFramesPerCall"},
		{"provider: a part of the answer", mib(part), told(t, "session/runner", "is longer than %d bytes"), "runner.MaxPartBytes"},
		{"provider: result of a hosted tool", mib(bridge.MaxResultBytes), told(t, "host/bridge", "the result of the call %q has %d bytes"), "bridge.MaxResultBytes"},
		{"provider: metadata of an event", mib(bridge.MaxMetadataBytes), told(t, "host/bridge", "the metadata of %s %q has"), "bridge.MaxMetadataBytes"},
		{"provider: body of an error that classify sees", kib(own.constant("maxErrorBody")), "", "bridge.maxErrorBody"},
		{"provider: a request with its files in it", mib(bridge.MaxSplicedBytes), told(t, "host/bridge", "bytes with its %d files in it"), "bridge.MaxSplicedBytes"},
	}
}

// operationLimits are those of single operations.
func operationLimits(t *testing.T) []limit {
	own, files, programs := figuresOf(t, "host/bridge"), figuresOf(t, "host/fsys"), figuresOf(t, "host/process")
	network := figuresOf(t, "host/egress")
	says := func(fragment string) string { return told(t, "host/bridge", fragment) }
	return []limit{
		{"`log`: of a call", kib(bridge.MaxLogBytes), says("the call has logged more than"), "bridge.MaxLogBytes"},
		{"`log`, `progress`: a line", kib(own.constant("maxLine")), "", "bridge.maxLine"},
		{"`batch`: operations", grouped(bridge.MaxBatch), says("operations; there must be 1 to"), "bridge.MaxBatch"},
		{"`batch`: answers together", mib(bridge.MaxBatchBytes), says("the answers of the batch have more than"), "bridge.MaxBatchBytes"},
		{"`fs.read`: a call", mib(bridge.MaxReadBytes), says("one fs.read answers at most"), "bridge.MaxReadBytes"},
		{"`fs.attach`: a file", mib(bridge.MaxAttachBytes), says("%q has %d bytes; the most that is attached"), "bridge.MaxAttachBytes"},
		{"`fs.list`: entries of a page", grouped(fsys.MaxPage), "", "fsys.MaxPage"},
		{"`fs.list`: entries of a directory", grouped(files.constant("maxEntries")), told(t, "host/fsys", "the directory has more than"), "fsys.maxEntries"},
		{"`fs.glob`: files", grouped(fsys.MaxFiles), "", "fsys.MaxFiles"},
		{"`fs.grep`: lines", grouped(fsys.MaxMatches), "", "fsys.MaxMatches"},
		{"`fs.glob`, `fs.grep`: text", mib(fsys.MaxText), "", "fsys.MaxText"},
		{"`fs.glob`, `fs.grep`: time", seconds(own.constant("searchTime")), "", "bridge.searchTime"},
		{"`fs.commit`: changes", grouped(fsys.MaxChanges), says("changes; there must be 1 to"), "fsys.MaxChanges"},
		{"`kv.*`: a key", fmt.Sprintf("%d bytes", bridge.MaxKVKey), says("it must have 1 to %d of UTF-8"), "bridge.MaxKVKey"},
		{"`kv.*`: a scope", mib(bridge.MaxKVBytes), says("the plugin's store would have"), "bridge.MaxKVBytes"},
		{"`kv.list`: keys of a page", grouped(bridge.MaxKVPage), "", "bridge.MaxKVPage"},
		{"`http.fetch`: `max_bytes`, without `blob`", mib(bridge.MaxBodyBytes), says("the most without blob is"), "bridge.MaxBodyBytes"},
		{"`http.fetch`: `max_bytes`, with `blob`", mib(bridge.MaxFetchBytes), says("max_bytes is %d; the most is"), "bridge.MaxFetchBytes"},
		{"`http.fetch`: the body that came", mib(bridge.DefaultFetchBytes), told(t, "host/egress", "the answer of %s is larger than %d bytes"), "bridge.DefaultFetchBytes"},
		{"`http.fetch`: the body that is sent", mib(network.field("NewFetcher", "RequestBody")), told(t, "host/egress", "the body of the request has"), "egress.NewFetcher"},
		{"`http.fetch`: a URL", kib(network.constant("maxURL")), told(t, "host/egress", "the URL has %d bytes"), "egress.maxURL"},
		{"`http.fetch`: headers that are sent", grouped(network.argument("defaults", "l.RequestHeaders")), told(t, "host/egress", "the request has %d headers"), "egress.Limits.RequestHeaders"},
		{"`http.fetch`: time of everything", seconds(network.field("NewFetcher", "Total")), "", "egress.NewFetcher"},
		{"`http.fetch`: redirects", fmt.Sprint(network.argument("defaults", "l.Redirects")), told(t, "host/egress", "redirects once more after %d times"), "egress.Limits.Redirects"},
		{"`http.fetch`: requests a minute", fmt.Sprint(network.field("NewFetcher", "Requests")), told(t, "host/egress", "requests a minute"), "egress.Limits.Requests"},
		{"`http.fetch`: open to one origin", fmt.Sprint(network.field("NewFetcher", "Connections")), told(t, "host/egress", "are open, the limit"), "egress.Limits.Connections"},
		{"`process.run`: command and environment", kib(bridge.MaxCommandBytes), says("command and environment have"), "bridge.MaxCommandBytes"},
		{"`process.run`: input", mib(bridge.MaxInputBytes), says("input has %d bytes"), "bridge.MaxInputBytes"},
		{"`process.run`: time", seconds(programs.constant("defaultTimeout")) + ", at most " + seconds(int(bridge.MaxCommandTimeout)), says("timeout_ms is %d; it must be from 1"), "bridge.MaxCommandTimeout"},
		{"`permission.ask`: resources", grouped(bridge.MaxAsked), says("resources; there must be 1 to"), "bridge.MaxAsked"},
		{"`permission.check`: resources", grouped(bridge.MaxChecked), says("resources; there must be 1 to"), "bridge.MaxChecked"},
		{"`permission.*`: an action", "64 bytes", says("it must have 1 to 64"), "bridge.checkPermission"},
		{"`permission.*`: a resource", grouped(own.constant("maxText")) + " bytes", says("must be one line of 1 to"), "bridge.maxText"},
		{"`question.ask`: questions", grouped(bridge.MaxQuestions), says("questions; there must be 1 to"), "bridge.MaxQuestions"},
		{"`question.ask`: options", grouped(bridge.MaxOptions), says("options; the most is"), "bridge.MaxOptions"},
		{"`task.run`: the prompt", kib(bridge.MaxPromptBytes), says("prompt has %d bytes"), "bridge.MaxPromptBytes"},
		{"`todo.set`: items", grouped(bridge.MaxTodos), says("todos; the most is"), "bridge.MaxTodos"},
	}
}

// goldenLimits are those of proofs and recordings.
func goldenLimits(t *testing.T) []limit {
	own := figuresOf(t, "host/plugin")
	return []limit{
		{"running time of a golden", seconds(own.constant("goldenDeadline")), told(t, "host/wasm", "deadline passed"), "plugin.goldenDeadline"},
		{"differences that are told", grouped(own.constant("maxDifferences")), "", "plugin.maxDifferences"},
		{"a value in a difference", fmt.Sprintf("%d bytes", own.constant("maxShown")), "", "plugin.maxShown"},
		{"a recording", mib(replay.DefaultMaxBytes) + ", at most " + mib(replay.MostMaxBytes), "", "replay.DefaultMaxBytes, MostMaxBytes"},
		{"a recording that is read", mib(replay.MaxFileBytes), told(t, "host/replay", "it is larger than %d bytes; record"), "replay.MaxFileBytes"},
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

// verb is what a format puts a value in.
var verb = regexp.MustCompile(`%[-+#.0-9]*[a-zA-Z]`)

// told answers the message of a package that has a fragment, as a reader sees it: "…"
// for values. The package says it in just one form.
func told(t *testing.T, folder, fragment string) string {
	t.Helper()
	found := map[string]bool{}
	for _, file := range parseFolder(t, folder) {
		ast.Inspect(file, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(text, fragment) {
				found[text] = true
			}
			return true
		})
	}
	if len(found) == 0 {
		t.Errorf("no message of %s has %q any more; name in this test what it says now", folder, fragment)
	}
	shortest := ""
	for text := range found {
		if shortest == "" || len(text) < len(shortest) || len(text) == len(shortest) && text < shortest {
			shortest = text
		}
	}
	return verb.ReplaceAllString(shortest, "…")
}

// engineSays is what the engine says of a limit that it counts.
func engineSays(t *testing.T, what, knob string, most int) string {
	t.Helper()
	told(t, "host/wasm", what)
	said := (&wasm.LimitError{What: what, Limit: int64(most), Knob: knob}).Error()
	if most == 0 {
		said = strings.ReplaceAll(said, " 0", " …")
	}
	return said
}
