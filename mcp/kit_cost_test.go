// The kit of tests of costs: a server that answers from memory, and what calls allocate.

package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A canned server answers from memory, so that what a test counts in this
// process is the client's.
type canned map[string]string // results by method, or by the name of a tool

// answer returns the answer to a message of the client, or nil.
func (c canned) answer(message []byte) []byte {
	m, err := jsonscan.Scan(message)
	if err != nil || m.ID == nil {
		return nil
	}
	result, ok := c[m.Method]
	for key, value := range jsonscan.Fields(m.Params) {
		if string(key) == "name" {
			result, ok = c[string(value)]
		}
	}
	kind := `,"result":`
	if !ok {
		kind, result = `,"error":`, `{"code":-32601,"message":"unknown method"}`
	}
	out := append(make([]byte, 0, len(result)+64), `{"jsonrpc":"2.0","id":`...)
	return append(append(append(append(out, m.ID...), kind...), result...), '}')
}

// serve answers over a pipe.
func (c canned) serve(_ context.Context, t mcp.Transport) error {
	pipe, ok := t.(*sdk.IOTransport)
	if !ok {
		return fmt.Errorf("not a pipe but a %T", t)
	}
	for lines := bufio.NewReader(pipe.Reader); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		if out := c.answer(line); out != nil {
			if _, err := pipe.Writer.Write(append(out, '\n')); err != nil {
				return nil
			}
		}
	}
}

func (c canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	out := c.answer(body)
	if out == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out)
}

func newCanned(revision string) canned {
	c := canned{`"small"`: `{"resultType":"complete","content":[{"type":"text","text":"hello"}]}`}
	if revision == mcp.Revision20260728 {
		c["server/discover"] = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},` +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"canned","version":"1"}}}`
	} else {
		c["initialize"] = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"canned","version":"1"}}`
	}
	var tools []string
	for i := range cannedTools {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":"Does the one thing that it is there for, and says how it went.",`+
			`"inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"Where."},`+
			`"count":{"type":"integer","minimum":1},"deep":{"type":"boolean","default":false}},"required":["path"]}}`, i))
	}
	c["tools/list"] = `{"resultType":"complete","tools":[` + strings.Join(tools, ",") + `]}`
	return c
}

// cannedTools is the number of tools that a canned server lists.
const cannedTools = 1000

// cannedChild returns the recipe for a canned server in a process of its own.
func cannedChild(t *testing.T, revision string) *transport.Command {
	t.Helper()
	program := assert.Value(os.Executable())(t)
	return &transport.Command{Path: program, Env: childOf(revision)}
}

// A cost is what something allocates.
type cost struct{ count, bytes uint64 }

// within fails the test if something costs more than it may.
func (c cost) within(t *testing.T, most cost) {
	t.Helper()
	t.Logf("%d allocations, %d bytes", c.count, c.bytes)
	assert.True(t, c.count <= most.count && c.bytes <= most.bytes, "allocations and bytes are at most %d and %d", most.count, most.bytes)
}

// costOf returns what one run of f costs, on average over some and after others
// that fill caches and grow buffers.
func costOf(f func()) cost {
	const warm, runs = 50, 200
	for range warm {
		f()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return cost{(after.Mallocs - before.Mallocs) / runs, (after.TotalAlloc - before.TotalAlloc) / runs}
}

// counts skips a test of costs where they cannot be counted.
func counts(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector allocates as well")
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what lies in pools survives one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
