package genkit_test

import (
	"testing"

	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/anthropic"

	belt "github.com/mcpbelt/mcpbelt/adapters/genkit"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestAnthropic(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "genkit", Runtime: "Anthropic", Framework: "github.com/firebase/genkit/go", Interrupt: "`ctx.Interrupt`", Without: map[string]string{"thoughts": "the plugin for Anthropic gives up a request whose answer has redacted thinking"},
		Wire: quoted{adaptertest.Anthropic{}},
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			g := genkit.Init(t.Context(), genkit.WithPlugins(&anthropic.Anthropic{APIKey: "key", BaseURL: url}), genkit.WithDefaultModel("anthropic/scripted"))
			return &conversation{genkit: g, registry: r, opts: &belt.Options{Provider: profile.Anthropic}, config: map[string]any{"max_tokens": 1000}}
		},
	})
}
