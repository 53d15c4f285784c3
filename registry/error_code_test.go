package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// What Call returns has the code that JSON-RPC and the protocol have for it.
func TestErrorCode(t *testing.T) {
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(
		func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			if req.Tool.Name == "secret" {
				return approval.Decision{Verdict: approval.Deny}, nil
			}
			return approval.Decision{Verdict: approval.Allow}, nil
		})})
	mustAdd(t, r, native("secret"), registry.MustFunc("add", "", add),
		registry.MustFunc("panic", "", func(context.Context, struct{}) (string, error) {
			panic(&mcp.JSONRPCError{Code: -32000, Message: "of another call"})
		}),
		&failingTool{native("refused"), &mcp.ServerError{Err: &mcp.JSONRPCError{Code: -32042, Message: "no"}}},
		&failingTool{native("unsupported"), fmt.Errorf("tasks: %w", errors.ErrUnsupported)},
		&failingTool{native("broken"), errors.New("the network is down")},
		&failingTool{native("empty"), &mcp.ServerError{}},
		&failingTool{native("away"), &registry.NotReadyError{Tool: "x", Server: "s", Err: &mcp.JSONRPCError{Code: -32000}}},
	)
	for _, test := range []struct {
		tool, args string
		want       int64
	}{
		{"add", `{"a":1,"b":2}`, 0},
		{"add", `{"a":1,`, -32700},
		{"add", `{"a":1} x`, -32700},
		{"add", `[1,2]`, -32600},
		{"add", `"a"`, -32600},
		{"add", `{"a":1}`, -32602},
		{"add", `{"a":"1","b":2}`, -32602},
		{"secret", `{"a":1,"a":2}`, -32602},
		{"nothing", `{}`, -32602},
		{"secret", `{}`, -32603},
		{"panic", `{}`, -32603},
		{"refused", `{}`, -32042},
		{"unsupported", `{}`, -32601},
		{"broken", `{}`, -32603},
		{"empty", `{}`, -32603},
		{"away", `{}`, -32603},
	} {
		_, err := r.Call(t.Context(), test.tool, json.RawMessage(test.args))
		if got := registry.ErrorCode(err); got != test.want {
			t.Errorf("%s %s: %d, want %d (%v)", test.tool, test.args, got, test.want, err)
		}
	}
}

// A failingTool fails with an error.
type failingTool struct {
	*plainTool
	err error
}

func (t *failingTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return nil, t.err
}

func ExampleErrorCode() {
	r := registry.New(nil)
	_, err := r.Call(context.Background(), "nothing", nil)
	fmt.Println(registry.ErrorCode(err), err)
	// Output: -32602 unknown tool "nothing"
}
