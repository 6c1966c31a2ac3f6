package bridge

import (
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/session"
)

// BenchmarkOperation is what one operation costs in the bridge alone.
func BenchmarkOperation(b *testing.B) {
	o := &operations{plugin: &Plugin{ID: "acme/test", Log: func(string, string) {}, Operations: 1 << 60}, reach: &Reach{Services: &Services{}}, asked: &toolAuthority{host: &toolHost{}}, host: &toolHost{}}
	for name, request := range map[string]string{abi.OpLog: `{"level":"info","message":"x"}`, abi.OpPermissionCheck: `{"action":"read","resources":["a"]}`} {
		message := bridgetest.Message(request)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				o.Call(b.Context(), name, message)
			}
		})
	}
}

var _ session.ToolHost = (*toolHost)(nil)
