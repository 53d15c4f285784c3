package policy_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/registry"

	"go.uber.org/goleak"
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
