package docs

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
)

// TestErrors holds docs/reference/errors.md to every closed set of errors.
func TestErrors(t *testing.T) {
	codes := table{head: []string{"code", "HTTP status", "retryable", "exit code", "means"}, written: 2}
	for _, c := range protocol.Codes() {
		codes.rows = append(codes.rows, []string{code(string(c)), fmt.Sprintf("%d %s", c.Status(), http.StatusText(c.Status())), yes(c.Retryable())})
	}
	if n := len(rowsOfConstants(t, "client/protocol", typed("Code"))); n != len(codes.rows) {
		t.Errorf("protocol.Codes has %d codes, the constants are %d", len(codes.rows), n)
	}
	closes := table{head: []string{"close code", "connect again", "means"}, written: 1}
	for _, c := range constants(t, "client/protocol") {
		number, err := strconv.Atoi(c.value)
		if err == nil && named("Close")(c) {
			closes.rows = append(closes.rows, []string{fmt.Sprint(number), yes(protocol.Reconnect(number))})
		}
	}
	means := func(head string, rows [][]string) table {
		return table{head: []string{head, "means"}, rows: rows, written: 1}
	}
	hold(t, "docs/reference/errors.md", map[string]table{
		"codes":       codes,
		"close codes": closes,
		"resets":      means("reason", rowsOfConstants(t, "client/protocol", typed("ResetReason"))),
		"ends":        means("reason", rowsOfConstants(t, "client/protocol", typed("EndReason"))),
		"failures":    means("code", rowsOfConstants(t, "session", named("Failure"))),
		"providers":   means("class", rowsOfConstants(t, "session", func(c constant) bool { return named("Provider")(c) && c.kind == "" })),
		"tools":       means("kind", rowsOfConstants(t, "abi/v1", typed("Kind"))),
		"outcomes":    means("outcome", rowsOfConstants(t, "session", typed("Outcome"))),
	})
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
