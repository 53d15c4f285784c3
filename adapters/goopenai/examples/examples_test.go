package examples

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newModel serves a model that calls notes__create, then notes__list, and then answers
// with what the last tool has said.
func newModel(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []struct{ Role, Content string }
			Tools    []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		assert.False(t, len(request.Tools) < 3, "got %d tools in the request, want at least 3", len(request.Tools))
		last := request.Messages[len(request.Messages)-1]
		message := map[string]any{"role": "assistant", "content": "It said: " + last.Content}
		script := []string{`{"name":"notes__create","arguments":"{\"text\":\"milk\"}"}`, `{"name":"notes__list","arguments":"{}"}`}
		if step := len(request.Messages) / 2; step < len(script) {
			message = map[string]any{"role": "assistant", "tool_calls": []any{
				map[string]any{"id": "call", "type": "function", "function": json.RawMessage(script[step])},
			}}
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": message}}}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAgents(t *testing.T) {
	programs := t.TempDir()
	for name, pkg := range map[string]string{"notes": "github.com/mcpbelt/mcpbelt/examples/servers/notes", "first": "./first", "careful": "./careful"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(programs, name), pkg).CombinedOutput(); err != nil {
			t.Fatalf("go build %s: %v\n%s", pkg, err, out)
		}
	}
	for _, c := range []struct{ name, program, keys, want string }{
		{"first", "first", "", `"title":"milk"`},
		{"approved", "careful", "y\ny\n", `"title":"milk"`},
		{"refused", "careful", "n\ny\n", `{"notes":[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			servers := assert.Value(json.Marshal(map[string]any{"mcpServers": map[string]any{"notes": map[string]any{"command": filepath.Join(programs, "notes")}}}))(t)
			assert.OK(t, os.WriteFile(filepath.Join(dir, "mcp.json"), servers, 0o600))
			agent := exec.CommandContext(t.Context(), filepath.Join(programs, c.program), "Note that we need milk.")
			agent.Dir = dir
			agent.Stdin = strings.NewReader(c.keys)
			agent.Env = append(os.Environ(), "OPENAI_API_KEY=none", "OPENAI_MODEL=none", "OPENAI_BASE_URL="+newModel(t), "XDG_STATE_HOME="+dir)
			out, err := agent.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			assert.True(t, strings.Contains(string(out), c.want), "got\n%s\nwant %q in it", out, c.want)
		})
	}
}
