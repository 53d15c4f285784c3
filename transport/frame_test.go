package transport

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/mcpbelt/mcpbelt/internal/inflight"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// An error that is kept keeps its own data alive, and not the whole message that it
// came in.
func TestErrorLetsItsMessageGo(t *testing.T) {
	message := json.RawMessage(`{"code":1,"message":"no","data":[1],"more":"` + strings.Repeat("x", 1<<20) + `"}`)
	there := weak.Make(&message[0])
	_, err := result("tools/call", inflight.Answer{Error: message})
	runtime.GC()
	if there.Value() != nil {
		t.Error("got the whole message in memory, want it gone")
	}
	var answered *mcp.JSONRPCError
	if !errors.As(err, &answered) || string(answered.Data) != "[1]" {
		t.Errorf("got %v, want an error with its data", err)
	}
}
