package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestServerShowsWhatIsWritten: the JSON of a server and the errors about it hold nothing
// that a reference to a secret stands for, however short it is and wherever it stands.
func TestServerShowsWhatIsWritten(t *testing.T) {
	const secret = "pw 7!" // neither its look nor its place says what it is
	dir := t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(dir, "key"), []byte(secret+"\n"), 0o600))
	assert.OK(t, os.WriteFile(filepath.Join(dir, "part"), []byte("pw7x"), 0o600))
	const text = `{"mcpServers":{
		"argument":{"command":"x","args":["login","${file:key}","${API_TOKEN}","plain","${MODE}"]},
		"default":{"command":"x","args":["${UNSET:-pw 7!}"]},
		"container":{"command":"x","isolation":{"kind":"docker","image":"i","args":["--label=${file:key}"]}},
		"value":{"command":"x","env":{"HOOK":"https://h.example/${file:part}","MODE":"${MODE}"}},
		"path":{"url":"https://h.example/s/${file:part}/mcp"},
		"header":{"url":"https://h.example/mcp","headers":{"X-Hook":"https://h.example/${file:part}"}}}}`
	values := map[string]string{"API_TOKEN": "pw 8!", "MODE": "fast"}
	c := assert.Value(Parse(t.Context(), filepath.Join(dir, "mcp.json"), []byte(text), &Options{Lookup: func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}}))(t)
	for i, want := range []string{
		`"args":["login","${file:key}","${API_TOKEN}","plain","${MODE}"]`,
		`"args":["${UNSET:-****}"]`,
		`"args":["--label=${file:key}"]`,
		`"env":{"HOOK":"https://h.example/${file:part}","MODE":"${MODE}"}`,
		`"url":"https://h.example/s/${file:part}/mcp"`,
		`"headers":{"X-Hook":"https://h.example/${file:part}"}`,
	} {
		s := c.Servers[i]
		if s.Err != nil {
			t.Fatal(s.Err)
		}
		data := assert.Value(json.Marshal(s))(t)
		if got := string(data); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s in it", s.Name, got, want)
		}
		failed := fmt.Errorf("cannot use %s of %v", s.URL, s.Args)
		for what, got := range map[string]string{"JSON": string(data), "error": s.MaskError(failed)} {
			for _, hidden := range []string{secret, "pw7x", "pw 8!"} {
				if strings.Contains(got, hidden) && !(s.Name == "default" && what == "error") {
					t.Errorf("%s, %s: got %s, want no secret in it", s.Name, what, got)
				}
			}
		}
	}
	if got, want := c.Servers[0].Secrets(), []string{"pw%207%21", "pw%208%21", "pw+7%21", "pw+8%21", secret, "pw 8!"}; !slices.Equal(got, want) {
		t.Errorf("got the secrets %q, want %q", got, want)
	}
	if got := c.Servers[3].MaskError(errors.New("in mode fast")); got != "in mode ****" { // all values of variables are
		t.Errorf("got %s, want the value of a variable masked", got)
	}
}

// TestSecretsSpareTheHost: what a host is called is in every error about it.
func TestSecretsSpareTheHost(t *testing.T) {
	dir := t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(dir, "host"), []byte("h.example"), 0o600))
	c := assert.Value(Parse(t.Context(), filepath.Join(dir, "mcp.json"), []byte(`{"mcpServers":{"a":{"url":"https://${file:host}/mcp"}}}`), nil))(t)
	if got := c.Servers[0].Secrets(); len(got) != 0 {
		t.Errorf("got the secrets %q, want none", got)
	}
	if got := (&Server{URL: "https://h.example"}).Secrets(); len(got) != 0 {
		t.Errorf("made by hand: got the secrets %q, want none", got)
	}
}
