package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// A server is told of what there is a handler for, and of nothing else.
func TestDeclaredCapabilities(t *testing.T) {
	sample := func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) { return nil, mcp.ErrRejected }
	for _, test := range []struct {
		name           string
		opts           mcp.ClientOptions
		legacy, modern string
	}{
		{"nothing", mcp.ClientOptions{SampleTools: true}, `{}`, `{}`},
		{"forms", mcp.ClientOptions{Elicit: annAnswers}, `{"elicitation":{"form":{}}}`, `{"elicitation":{"form":{}}}`},
		{"pages", mcp.ClientOptions{ElicitURL: agrees}, `{"elicitation":{"url":{}}}`, `{"elicitation":{"url":{}}}`},
		{"both", mcp.ClientOptions{Elicit: annAnswers, ElicitURL: agrees},
			`{"elicitation":{"form":{},"url":{}}}`, `{"elicitation":{"form":{},"url":{}}}`},
		{"a model", mcp.ClientOptions{Sample: sample}, `{"sampling":{}}`, `{"sampling":{}}`},
		{"a model with tools", mcp.ClientOptions{Sample: sample, SampleTools: true}, `{"sampling":{"tools":{}}}`, `{"sampling":{"tools":{}}}`},
		{"roots to come", mcp.ClientOptions{Roots: []*mcp.Root{}}, `{"roots":{"listChanged":true}}`, `{"roots":{}}`},
		{"tasks", mcp.ClientOptions{Tasks: true}, `{}`, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`},
		{"an extension", mcp.ClientOptions{Extensions: map[string]map[string]any{"a.example/x": nil, "a.example/y": {"k": 1}}},
			`{"extensions":{"a.example/x":{},"a.example/y":{"k":1}}}`, `{"extensions":{"a.example/x":{},"a.example/y":{"k":1}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, revision string, p plane) {
				server := mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{"tools/call": text("fine")})
				mustCall(t, newClient(t, p.to(server), &test.opts), "x")
				var told struct {
					Capabilities json.RawMessage `json:"capabilities"`
					Meta         struct {
						Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
					} `json:"_meta"`
				}
				method, want := "tools/call", test.modern
				if revision < mcp.Revision20260728 {
					method, want = "initialize", test.legacy
				}
				assert.OK(t, json.Unmarshal(server.Received(method)[0].Params, &told))
				var got bytes.Buffer
				assert.OK(t, json.Compact(&got, append(told.Capabilities, told.Meta.Capabilities...)))
				assert.Equal(t, got.String(), want)
			})
		})
	}
}
