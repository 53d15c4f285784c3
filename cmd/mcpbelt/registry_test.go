package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// startRegistry starts a server registry that ends with the script, and sets the variable NAME to its URL.
func startRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: registry NAME FOLDER")
	}
	server := newRegistry(ts.Check, ts.MkAbs(args[1]))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

// newRegistry returns a server registry. It is no real one, and answers as docs/reference/api/openapi.yaml of
// modelcontextprotocol/registry says: its servers are the files of a folder, each a ServerResponse, in which URL and SHA256
// stand for where the bundle in the folder is, and its hash.
func newRegistry(check func(error), folder string) *httptest.Server {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	var servers []json.RawMessage
	bundle, _ := os.ReadFile(filepath.Join(folder, "bundle.mcpb"))
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	check(err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		check(err)
		servers = append(servers, json.RawMessage(strings.NewReplacer("SHA256", fmt.Sprintf("%x", sha256.Sum256(bundle)), "URL", server.URL).Replace(string(data))))
	}
	find := func(fits func(name, version string) bool) (found []json.RawMessage) {
		for _, data := range servers {
			var s struct {
				Server struct{ Name, Version string }
			}
			check(json.Unmarshal(data, &s))
			if fits(s.Server.Name, s.Server.Version) {
				found = append(found, data)
			}
		}
		return found
	}
	answer := func(w http.ResponseWriter, status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("GET /v0.1/servers", func(w http.ResponseWriter, r *http.Request) {
		found := find(func(name, _ string) bool { return strings.Contains(name, strings.ToLower(r.FormValue("search"))) })
		answer(w, http.StatusOK, map[string]any{"servers": found, "metadata": map[string]any{"count": len(found)}})
	})
	mux.HandleFunc("GET /v0.1/servers/{name}/versions/{version}", func(w http.ResponseWriter, r *http.Request) {
		found := find(func(name, version string) bool {
			return name == r.PathValue("name") && (r.PathValue("version") == "latest" || r.PathValue("version") == version)
		})
		if len(found) == 0 {
			answer(w, http.StatusNotFound, map[string]string{"error": "Server not found"})
			return
		}
		answer(w, http.StatusOK, found[0])
	})
	mux.Handle("GET /release.mcpb", http.RedirectHandler("/bundle.mcpb", http.StatusFound))
	mux.HandleFunc("GET /bundle.mcpb", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bundle) })
	return server
}

// makeBundle packs the files of a folder into a bundle; one more has the name and the mode that are given.
func makeBundle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: bundle FILE FOLDER [NAME [link]]")
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	z := zip.NewWriter(f)
	ts.Check(z.AddFS(os.DirFS(ts.MkAbs(args[1]))))
	if len(args) > 2 {
		h := &zip.FileHeader{Name: args[2]}
		if len(args) > 3 {
			h.SetMode(fs.ModeSymlink)
		}
		w, err := z.CreateHeader(h)
		ts.Check(err)
		_, err = w.Write([]byte("/etc/passwd"))
		ts.Check(err)
	}
	ts.Check(z.Close())
}
