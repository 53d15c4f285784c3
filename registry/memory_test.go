package registry

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// What an error keeps of a server's answer counts as a result does.
func TestErrorsWeighWhatTheyHold(t *testing.T) {
	const size = 1 << 20
	large := resultOf(textBlock(strings.Repeat("x", size)))
	for name, err := range map[string]error{
		"data":    &mcp.ServerError{Err: &mcp.JSONRPCError{Data: json.RawMessage(strings.Repeat("x", size))}},
		"message": &mcp.ServerError{Err: &mcp.JSONRPCError{Message: strings.Repeat("x", size)}},
		"output":  &mcp.OutputError{Result: large, Err: errors.New("wrong")},
		"result":  &ResultError{Result: large, Err: errors.New("wrong")},
		"panic":   &PanicError{Stack: make([]byte, size)},
		"reason":  &approval.DeniedError{Reason: strings.Repeat("x", size)},
	} {
		if got := newOutcome(nil, err).memory; got < size {
			t.Errorf("%s: got %d bytes, want at least %d", name, got, size)
		}
	}
}

// An outcome keeps its structured content, and not the whole message that it came in.
func TestOutcomesLetMessagesGo(t *testing.T) {
	message := append(json.RawMessage(`{"a":1}`), make([]byte, 1<<20)...)
	there := weak.Make(&message[0])
	kept := newOutcome(&mcp.CallToolResult{StructuredContent: message[:7:7]}, nil)
	runtime.GC()
	if there.Value() != nil {
		t.Error("got the whole message in memory, want it gone")
	}
	assert.Equal(t, string(kept.res.StructuredContent.(json.RawMessage)), `{"a":1}`, "structured content")
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("no") }

// A value that cannot be measured is not kept, and its call is over all the same.
func TestOutcomeThatPanics(t *testing.T) {
	if got := newOutcome(&mcp.CallToolResult{StructuredContent: panicking{}}, nil).memory; got <= maxKept {
		t.Errorf("got %d bytes, want more than is ever kept", got)
	}
	loop := map[string]any{}
	loop["a"] = loop
	if got := newOutcome(&mcp.CallToolResult{StructuredContent: loop}, nil).memory; got <= maxKept {
		t.Errorf("a value that holds itself: got %d bytes, want more than is ever kept", got)
	}
}

func TestWeightOf(t *testing.T) {
	res := &mcp.CallToolResult{
		Content: []mcp.Content{
			&mcp.TextContent{Text: "1234"}, &mcp.ImageContent{Data: make([]byte, 10)}, &mcp.AudioContent{Data: make([]byte, 100)},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Text: "123", Blob: make([]byte, 1000)}}, &mcp.EmbeddedResource{},
		},
		StructuredContent: json.RawMessage(`{"a":1}`),
	}
	assert.Equal(t, weightOf(res), 4+10+100+3+1000+7, "bytes")
	assert.Equal(t, weightOf(nil), 0, "bytes for nothing")
}

func resultOf(content ...mcp.Content) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: content}
}

func textBlock(s string) *mcp.TextContent { return &mcp.TextContent{Text: s} }
