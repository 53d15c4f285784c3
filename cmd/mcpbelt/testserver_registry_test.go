// The registry of scripts and examples.

package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// weather are the servers of the registry of examples.
const weather = `[{"server": {"name": "io.github.acme/weather", "title": "Weather", "description": "Forecasts of ACME", "version": "1.2.3",
	"packages": [{"registryType": "npm", "identifier": "@acme/weather", "version": "1.2.3", "transport": {"type": "stdio"},
		"packageArguments": [{"type": "named", "name": "--unit", "description": "C or F", "choices": ["C", "F"], "default": "C"}],
		"environmentVariables": [{"name": "ACME_KEY", "description": "Key", "isRequired": true, "isSecret": true}]}],
	"remotes": [{"type": "streamable-http", "url": "https://acme.example/mcp"}]},
	"_meta": {"io.modelcontextprotocol.registry/official": {"status": "active", "isLatest": true}}}]`

// newRegistry starts a registry that answers as the OpenAPI document of modelcontextprotocol/registry says for version 0.1,
// from a list of its ServerResponse, and has the files of a folder below /files. It is a fake: no real registry was asked.
func newRegistry(servers []byte, files string) *httptest.Server {
	mux := http.NewServeMux()
	registry := httptest.NewServer(mux)
	type published struct {
		Server map[string]any `json:"server"`
		Meta   any            `json:"_meta,omitempty"`
	}
	var all []published
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(servers), "REGISTRY", registry.URL)), &all); err != nil {
		panic(err)
	}
	answer := func(w http.ResponseWriter, status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("GET /v0.1/servers", func(w http.ResponseWriter, r *http.Request) { // a page is one server
		found := slices.Clone(all)
		for word := range strings.FieldsSeq(r.FormValue("search")) {
			found = slices.DeleteFunc(found, func(s published) bool {
				text, _ := json.Marshal([]any{s.Server["name"], s.Server["description"]})
				return !strings.Contains(strings.ToLower(string(text)), word)
			})
		}
		start := slices.IndexFunc(found, func(s published) bool {
			return s.Server["name"] == r.FormValue("cursor")
		})
		page, metadata := found[start+1:], map[string]any{"count": min(1, len(found))}
		if len(page) > 1 {
			page, metadata["nextCursor"] = page[:1], page[0].Server["name"]
		}
		answer(w, http.StatusOK, map[string]any{"servers": page, "metadata": metadata})
	})
	mux.HandleFunc("GET /v0.1/servers/{name}/versions/{version}", func(w http.ResponseWriter, r *http.Request) {
		for _, s := range all {
			if version := r.PathValue("version"); s.Server["name"] == r.PathValue("name") && (version == "latest" || s.Server["version"] == version) {
				answer(w, http.StatusOK, s)
				return
			}
		}
		answer(w, http.StatusNotFound, map[string]string{"error": "Server not found"})
	})
	mux.Handle("GET /files/", http.StripPrefix("/files/", http.FileServer(http.Dir(cmp.Or(files, "testdata")))))
	return registry
}

// startRegistry starts a registry in this process, which ends with the script.
func startRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: registry FILE")
	}
	registry := newRegistry([]byte(ts.ReadFile(args[0])), ts.Getenv("WORK"))
	ts.Defer(registry.Close)
	ts.Setenv("MCPBELT_REGISTRY", registry.URL)
}

// makeBundle makes a ZIP archive of a folder.
func makeBundle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bundle FILE FOLDER")
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	ts.Check(w.AddFS(os.DirFS(ts.MkAbs(args[1]))))
	ts.Check(w.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out.Bytes(), 0o600))
}
