package genkit_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/googlegenai"

	belt "github.com/mcpbelt/mcpbelt/adapters/genkit"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// gemini is the wire of Gemini, as Genkit's plugin speaks it: schemas are in the older
// of two fields, with types in capitals, calls have no ids, and results another role.
type gemini struct{ adaptertest.Gemini }

func (w gemini) Read(r *http.Request, body []byte) (*adaptertest.Request, error) {
	var in map[string]any
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	tools, _ := in["tools"].([]any)
	for _, t := range tools {
		functions, _ := t.(map[string]any)["functionDeclarations"].([]any)
		for _, f := range functions {
			function := f.(map[string]any)
			if schema, ok := function["parameters"]; ok {
				function["parametersJsonSchema"] = lower(schema)
				delete(function, "parameters")
			}
		}
	}
	contents, _ := in["contents"].([]any)
	for _, c := range contents {
		if content := c.(map[string]any); content["role"] == "tool" {
			content["role"] = "user"
		}
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return w.Gemini.Read(r, raw)
}

// lower writes the types of a schema in small letters.
func lower(schema any) any {
	object, _ := schema.(map[string]any)
	for k, v := range object {
		switch v := v.(type) {
		case string:
			if k == "type" {
				object[k] = strings.ToLower(v)
			}
		case map[string]any:
			if k == "properties" {
				for _, p := range v {
					lower(p)
				}
			} else {
				lower(v)
			}
		}
	}
	return object
}

func startGemini(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
	t.Setenv("GOOGLE_GEMINI_BASE_URL", url)
	g := genkit.Init(t.Context(), genkit.WithPlugins(&googlegenai.GoogleAI{APIKey: "key"}), genkit.WithDefaultModel("googleai/gemini-2.5-flash"))
	return &conversation{genkit: g, registry: r, opts: &belt.Options{Provider: profile.Gemini}}
}

func TestGemini(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "genkit", Runtime: "Gemini", Framework: "github.com/firebase/genkit/go",
		Wire: gemini{adaptertest.Gemini{Before3: true}}, Start: startGemini, Interrupt: "`ctx.Interrupt`",
	})
}
