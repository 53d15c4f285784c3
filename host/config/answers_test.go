package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// askingFile is a file of VS Code with all that somebody has to answer for.
const askingFile = `{"inputs":[{"id":"i","type":"promptString"},{"id":"cmd","type":"command"}],"servers":{
	"all":{"command":"${A}","args":["$A","${input:i}","${file:f}"],"env":{"K":"${keyring:k}","D":"${NONE:-hidden}"},"envFile":"e"},
	"web":{"url":"https://${input:i}/${A}","headers":{"X":"Bearer ${keyring:k}"}},
	"early":{"command":"${input:i}"},
	"login":{"url":"https://x/","auth":{"clientId":"c","clientSecret":"${keyring:k}"}},
	"box":{"command":"c","isolation":{"kind":"docker","image":"${input:i}"}},
	"unknown":{"command":"c","args":["${input:nobody}"]},
	"off":{"command":"c","disabled":true,"args":["${input:i}"]},
	"editor":{"command":"c","args":["${input:cmd}"]}}}`

// loadAsking loads askingFile and what it names.
func loadAsking(t *testing.T, scope Scope, opts Options) (byName map[string]*Server, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"mcp.json": askingFile, "f": "from-file", "e": "E=one"} {
		assert.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	opts.Scope = scope
	if opts.Lookup == nil {
		opts.Lookup = func(name string) (string, bool) { return "a.example", name == "A" }
	}
	c := assert.Value(Load(t.Context(), filepath.Join(dir, "mcp.json"), &opts))(t)
	byName = make(map[string]*Server)
	for _, s := range c.Servers {
		byName[s.Name] = s
	}
	return byName, dir
}

func TestReferences(t *testing.T) {
	servers, _ := loadAsking(t, ScopeProject, Options{Secrets: NewSecrets()})
	for name, want := range map[string][]string{
		"all": {"command: ${A}", "args[1]: ${input:i}", "args[2]: ${file:f}", "envFile: e", "env.K: ${keyring:k}", "env.D: ${NONE:-****}"},
		"web": {"url: ${A}", "url: ${input:i}", "headers.X: ${keyring:k}"},
	} {
		if got := servers[name].References(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := (&Server{}).References(); len(got) != 0 {
		t.Errorf("%q of no file", got)
	}
}

// Nobody is asked for what needs approval when the file is read, and what was read is
// what is answered, whatever has changed since.
func TestAnswered(t *testing.T) {
	asked := 0
	value := "a.example"
	secrets := NewSecrets()
	assert.OK(t, secrets.SetSecret(t.Context(), "k", "key"))
	servers, dir := loadAsking(t, ScopeProject, Options{
		Lookup:  func(name string) (string, bool) { return value, name == "A" },
		Secrets: looked{secrets, &asked},
		Input:   func(context.Context, Input) (Secret, error) { asked++; return "said", nil },
	})
	if asked != 0 {
		t.Fatalf("somebody was asked %d times for what nobody approved", asked)
	}
	all, web := servers["all"], servers["web"]
	if all.Err != nil || all.Args[1] != "${input:i}" || all.Env["K"] != "${keyring:k}" || web.URL != "https://${input:i}/a.example" {
		t.Fatalf("%v %q %v %s", all.Err, all.Args, all.Env["K"].Reveal(), web.URL)
	}
	value = "b.example"
	for name, text := range map[string]string{"f": "other", "e": "E=two"} {
		assert.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	full, err := all.Answered(t.Context())
	assert.OK(t, err)
	if full.Command != "a.example" || !slices.Equal(full.Args, []string{"$A", "said", "from-file"}) ||
		full.Env["K"] != "key" || full.Env["E"] != "one" || full.Fingerprint() != all.Fingerprint() || full.Name != all.Name {
		t.Errorf("%v %q %q", full, full.Args, full.Env["E"].Reveal())
	}
	before := asked
	if again, err := all.Answered(t.Context()); err != nil || again.Hash() != full.Hash() || asked != before {
		t.Errorf("%v, asked %d times more", err, asked-before)
	}
	if full, err = web.Answered(t.Context()); err != nil || full.URL != "https://said/a.example" || full.Headers["X"] != "Bearer key" {
		t.Errorf("%v %v", full, err)
	}
	if off, err := servers["off"].Answered(t.Context()); err != nil || off.Enabled || off.Args[0] != "said" {
		t.Errorf("%v %v", off, err)
	}
	renamed := *all // as Merge does
	renamed.Name, renamed.Enabled = "all_2", false
	if full, err := renamed.Answered(t.Context()); err != nil || full.Name != "all_2" || full.Enabled {
		t.Errorf("%v %v", full, err)
	}
	var input *InputError
	if _, err := servers["editor"].Answered(t.Context()); !errors.As(err, &input) {
		t.Errorf("editor: %v", err)
	}
}

// What is started must be known before it is approved.
func TestAskedEarly(t *testing.T) {
	servers, _ := loadAsking(t, ScopeRC, Options{Secrets: NewSecrets()})
	for _, name := range []string{"early", "login", "box"} {
		if err := servers[name].Err; !errors.Is(err, errAskedEarly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := servers["unknown"].Err; err == nil || !strings.Contains(err.Error(), "not described") {
		t.Errorf("unknown: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := servers["all"].Answered(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	var missing *MissingSecretError
	if _, err := servers["all"].Answered(t.Context()); !errors.As(err, &missing) || !errors.Is(err, ErrNoAnswer) {
		t.Errorf("without answers: %v", err)
	}
}

// The user's own entries are answered when they are read.
func TestAnsweredAtOnce(t *testing.T) {
	secrets := NewSecrets()
	assert.OK(t, secrets.SetSecret(t.Context(), "k", "key"))
	servers, _ := loadAsking(t, ScopeUser, Options{Secrets: secrets,
		Input: func(context.Context, Input) (Secret, error) { return "said", nil }})
	all := servers["all"]
	if full, err := all.Answered(t.Context()); err != nil || full != all || all.Args[1] != "said" {
		t.Errorf("%v %v", full, err)
	}
}

// Many may start the same server, and others of the same file, at once.
func TestAnsweredAtOneTime(t *testing.T) {
	secrets := NewSecrets()
	assert.OK(t, secrets.SetSecret(t.Context(), "k", "key"))
	var mu sync.Mutex
	asked := 0
	servers, _ := loadAsking(t, ScopeProject, Options{Secrets: secrets, Input: func(context.Context, Input) (Secret, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return "said", nil
	}})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := servers[[]string{"all", "web"}[i%2]].Answered(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if asked > 2 {
		t.Errorf("asked %d times", asked)
	}
}

// looked counts the looks at a store.
type looked struct {
	SecretStore

	looks *int
}

func (f looked) Secret(ctx context.Context, name string) (Secret, bool, error) {
	*f.looks++
	return f.SecretStore.Secret(ctx, name)
}

// No file takes the place of what the program itself has named.
func TestMergeProgram(t *testing.T) {
	one := func(file string, scope Scope) *Config {
		c := assert.Value(Parse(t.Context(), file, []byte(`{"mcpServers":{"github":{"command":"x"}}}`), &Options{Scope: scope}))(t)
		return c
	}
	m := Merge(one("project.json", ScopeProject), one("user.json", ScopeUser), one("odd.json", "odd"), one("program.json", ScopeProgram))
	if len(m.Servers) != 1 || m.Servers[0].Source.File != "program.json" || len(m.Shadowed) != 3 {
		t.Fatalf("%v, %v", m.Servers, m.Shadowed)
	}
	m = Merge(one("user.json", ScopeUser), one("project.json", ScopeProject))
	if len(m.Shadowed) != 1 || m.Shadowed[0].Server.Source.File != "user.json" || !m.Servers[0].Source.Scope.NeedsApproval() {
		t.Errorf("%v, %v", m.Servers, m.Shadowed)
	}
}
