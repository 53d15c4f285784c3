// Tests of middleware.go: Genkit's plugin for Ollama.

package genkit_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/ollama"

	belt "github.com/mcpbelt/mcpbelt/adapters/genkit"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// bare is the wire of Ollama, as Genkit's plugin speaks it: it sends what is required within an
// object, too, which the server drops.
type bare struct{ adaptertest.Ollama }

func (w bare) Read(r *http.Request, body []byte) (*adaptertest.Request, error) {
	return w.Ollama.Read(r, bytes.ReplaceAll(body, []byte(`"required":["name"],`), nil))
}

func TestOllama(t *testing.T) {
	//report: Models | NousResearch/hermes-agent#6267, ollama/ollama#10976 | a model that thinks answers with nothing else, and a message without words stands in the history | it is left out of the next request, whatever plugin sends that
	t.Cleanup(http.DefaultClient.CloseIdleConnections) // the plugin has no client of its own
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "genkit", Runtime: "Ollama", Framework: "github.com/firebase/genkit/go", Interrupt: "`ctx.Interrupt`", TextOnly: true,
		Wire: quoted{bare{adaptertest.Ollama{WithoutIDs: true}}},
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			plugin := &ollama.Ollama{ServerAddress: url, Timeout: 60}
			g := genkit.Init(t.Context(), genkit.WithPlugins(plugin), genkit.WithDefaultModel("ollama/llama3.1"))
			plugin.DefineModel(g, ollama.ModelDefinition{Name: "llama3.1", Type: "chat"}, nil)
			return &conversation{genkit: g, registry: r, opts: &belt.Options{Provider: profile.Ollama, Turn: profile.TurnOptions{TextOnly: true}}}
		},
	})
}
