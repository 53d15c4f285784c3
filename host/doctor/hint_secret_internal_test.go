package doctor

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
)

// TestHintsShowNoReferencedSecret: hints, and what is shown beside them, hold nothing that a
// reference to a secret stands for, however short it is.
func TestHintsShowNoReferencedSecret(t *testing.T) {
	dir := t.TempDir()
	for name, secret := range map[string]string{"short": "q7x", "path": "pw7x", "arg": "pw8x"} {
		assert.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600))
	}
	c := assert.Value(config.Parse(t.Context(), filepath.Join(dir, "mcp.json"), []byte(`{"mcpServers":{
		"web":{"type":"http","url":"http://127.0.0.1:1/s/${file:short}/${file:path}/mcp"},
		"local":{"command":"x","args":["login","${file:arg}"]}}}`), nil))(t)
	web, local := c.Servers[0], c.Servers[1]
	refused := &transport.StatusError{Method: http.MethodPost, Code: http.StatusNotFound}
	trouble := newTrouble(web, fmt.Errorf("Post %q: %w", web.URL, refused), newCleaner(web))
	page := newTrouble(web, refused, newCleaner(web))
	page.answers = []webAnswer{{status: http.StatusOK, kind: "text/html"}}
	exited := newTrouble(local, &transport.ExitError{Path: "x", Code: 2}, newCleaner(local))
	exited.stderr = exited.clean.text("cannot log in as " + local.Args[1])
	for name, shown := range map[string]string{
		"path":   fmt.Sprint(trouble.diagnose(t.Context())),
		"page":   fmt.Sprint(page.diagnose(t.Context())),
		"error":  trouble.clean.text(trouble.err.Error()),
		"stderr": exited.stderr + fmt.Sprint(exited.diagnose(t.Context())),
	} {
		for _, secret := range []string{"q7x", "pw7x", "pw8x"} {
			assert.Equal(t, shown == "", false, "%s", name)
			assert.Equal(t, shown == "[]", false, "%s", name)
			assert.Lacks(t, shown, secret, "%s", name)
		}
	}
}
