package policy_test

import (
	"context"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

func add(_ context.Context, p pair) (int, error) { return p.A + p.B, nil }

func ptr[T any](v T) *T { return &v }

// toolDefinition returns the definition of a server's tool, as a registry names it.
func toolDefinition(server, name string) *registry.Definition {
	def := &registry.Definition{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}
	if server != "" {
		def.Name, def.Origin = server+"__"+name, registry.Origin{Server: server, Tool: name}
	}
	return def
}

// annotated returns a request for a tool of a server with annotations.
func annotated(raw string, trusted bool) *registry.ApprovalRequest {
	def := &registry.Definition{Name: "files__get", Origin: registry.Origin{Server: "files", Tool: "get"}}
	if raw != "" {
		def.RawAnnotations = json.RawMessage(raw)
	}
	return &registry.ApprovalRequest{Tool: def, Hints: def.Hints(), Trusted: trusted}
}

func mustPolicy(t testing.TB, byDefault approval.Verdict, rules ...policy.Rule) *policy.Policy {
	t.Helper()
	return assert.Value(policy.New(byDefault, rules...))(t)
}
