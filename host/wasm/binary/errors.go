package binary

import (
	"fmt"
	"strings"
)

// Error is why bytes are not a module this package takes. Proposal is set when
// they use an extension beyond WebAssembly 2.0, Knob when they exceed a limit;
// otherwise they are malformed.
type Error struct {
	Offset   int    // of the item at fault, in bytes from the start of the module
	Section  string // where: "header", "type", "code, function 7"
	Reason   string
	Fix      string // what the author can do; may be empty
	Proposal string // "threads", "tail calls"
	Knob     string // the field of Limits that would admit it
	Got      int64  // with Knob: what the module has, and what it may have
	Limit    int64
}

func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s section at byte %d: %s", e.Section, e.Offset, e.Reason)
	if e.Section == sectionHeader {
		text.Reset()
		fmt.Fprintf(&text, "byte %d: %s", e.Offset, e.Reason)
	}
	if e.Knob != "" {
		fmt.Fprintf(&text, " (Limits.%s)", e.Knob)
	}
	if e.Fix != "" {
		text.WriteString("; " + e.Fix)
	}
	return text.String()
}

// Proposals beyond WebAssembly 2.0, by the names their documents carry.
const (
	proposalComponents  = "components"
	proposalMemory64    = "memory64"
	proposalPageSizes   = "custom page sizes"
	proposalThreads     = "threads"
	proposalMultiMemory = "multi-memory"
	proposalExceptions  = "exception handling"
	proposalTailCalls   = "tail calls"
	proposalFunctionRef = "typed function references"
	proposalGC          = "garbage collection types"
	proposalConst       = "extended constant expressions"
	proposalRelaxed     = "relaxed SIMD"
	proposalWide        = "wide arithmetic"
	proposalControl     = "memory control"
	proposalSwitching   = "stack switching"
)
