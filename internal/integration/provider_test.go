//go:build integration && unix

package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/npmdir"
)

// A provider is npm's oidc-provider: an authorization server that has nothing to
// do with this module.
type provider struct {
	issuer string
}

// provide starts a provider that issues tokens for a resource. It ends with the
// test.
func provide(t *testing.T, resource string) *provider {
	t.Helper()
	cache := assert.Value(filepath.Abs("../../bin/integration"))(t)
	dir := assert.Value(npmdir.Install(t.Context(), "testdata/npm", cache))(t)
	cmd := exec.Command("node", "testdata/authorization.mjs", filepath.Join(dir, "node_modules/oidc-provider/lib/index.js"), resource)
	log := new(bytes.Buffer)
	cmd.Stderr = log
	in := assert.Value(cmd.StdinPipe())(t)
	out := assert.Value(cmd.StdoutPipe())(t)
	assert.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("log of the authorization server:\n%s", log)
		}
	})
	issuer, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the authorization server has not started: %v", err)
	}
	return &provider{strings.TrimSpace(issuer)}
}

// events returns what has happened there, and how often.
func (p *provider) events(t *testing.T) map[string]int {
	t.Helper()
	events := make(map[string]int)
	p.get(t, "/events", &events)
	return events
}

// get gets a document of the provider.
func (p *provider) get(t *testing.T, path string, document any) {
	t.Helper()
	req := assert.Value(http.NewRequestWithContext(ctxFor(t), http.MethodGet, p.issuer+path, nil))(t)
	req.Close = true
	res := assert.Value(http.DefaultClient.Do(req))(t)
	defer res.Body.Close()
	assert.OK(t, json.NewDecoder(res.Body).Decode(document))
}
