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
	cache, err := filepath.Abs("../../bin/integration")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := npmdir.Install(t.Context(), "testdata/npm", cache)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/authorization.mjs", filepath.Join(dir, "node_modules/oidc-provider/lib/index.js"), resource)
	log := new(bytes.Buffer)
	cmd.Stderr = log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
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
	req, err := http.NewRequestWithContext(ctxFor(t), http.MethodGet, p.issuer+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(document); err != nil {
		t.Fatal(err)
	}
}
