package transport

import (
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
	assert.Equal(t, there.Value(), nil, "the whole message in memory")
	assert.Equal(t, string(assert.As[*mcp.JSONRPCError](t, err).Data), "[1]", "data")
}

// A negative limit is none.
func TestMaxMessage(t *testing.T) {
	for configured, want := range map[int64]int64{0: 16 << 20, 1: 1, -1: anyMessage, math.MaxInt64: anyMessage} {
		assert.Equal(t, maxMessage(configured), want, "MaxMessage %d", configured)
	}
}
