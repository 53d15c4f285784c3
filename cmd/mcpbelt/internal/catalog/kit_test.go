package catalog

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// newRegistry returns a registry that a handler answers for. What a registry answers is as the OpenAPI document of
// modelcontextprotocol/registry says, version 0.1; no real one was asked.
func newRegistry(t *testing.T, h http.HandlerFunc) *Registry {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return assert.Value(Open(server.URL))(t)
}

// answering returns a handler that has one JSON for everything.
func answering(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// newAsker returns an asker at a terminal where the lines are typed, or without one. What was given is NAME=VALUE.
func newAsker(typed string, given ...string) (*Asker, *strings.Builder) {
	shown := &strings.Builder{}
	env := &cli.Env{Stdin: iotest.OneByteReader(strings.NewReader(typed)), Stdout: io.Discard, Stderr: shown, InTerminal: typed != "", ErrTerminal: typed != ""}
	a := &Asker{Out: cli.NewOut(env), Given: map[string][]string{}}
	for _, text := range given {
		name, value, _ := strings.Cut(text, "=")
		a.Given[name] = append(a.Given[name], value)
		if name == strings.ToUpper(name) {
			a.Env = append(a.Env, name)
		} else {
			a.Args = append(a.Args, name)
		}
	}
	return a, shown
}

// shown returns an entry as one line: the command or URL, and the variables or headers.
func shown(s *config.Server) string {
	words := append([]string{s.Command + s.URL}, s.Args...)
	for _, m := range []map[string]config.Secret{s.Env, s.Headers} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			words = append(words, "| "+name+": "+m[name].Reveal())
		}
	}
	return strings.Join(words, " ")
}

// serverOf returns the server of a server.json that has these members beside its name and version.
func serverOf(t *testing.T, members string) *Server {
	data := `{"server":{"name":"io.github.acme/weather","description":"Weather","version":"1.2.3",` + members + `}}`
	assert.True(t, json.Valid([]byte(data)), "%s", data)
	s, err := parse([]byte(data))
	assert.OK(t, err, "%s", data)
	return s
}
