package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// askingFile is a file of VS Code with all that a person has to answer for.
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
		"all": {"command: ${A}", "args[1]: ${input:i}", "args[2]: ${file:f}", "envFile: e", "env.K: ${keyring:k}", "env.D: ${NONE}"},
		"web": {"url: ${A}", "url: ${input:i}", "headers.X: ${keyring:k}"},
	} {
		assert.Equal(t, fmt.Sprintf("%q", servers[name].references), fmt.Sprintf("%q", want), "%s", name)
	}
	assert.Equal(t, len((&Server{}).references), 0)
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
	assert.Equal(t, asked, 0)
	all, web := servers["all"], servers["web"]
	assert.OK(t, all.Err)
	assert.Equal(t, all.Args[1], "${input:i}")
	assert.Equal(t, all.Env["K"], "${keyring:k}")
	assert.Equal(t, web.URL, "https://${input:i}/a.example")
	value = "b.example"
	for name, text := range map[string]string{"f": "other", "e": "E=two"} {
		assert.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	full := assert.Value(all.Answered(t.Context()))(t)
	assert.Equal(t, [...]string{full.Command, strings.Join(full.Args, " ")}, [...]string{"a.example", "$A said from-file"})
	assert.Equal(t, full.Env["K"], "key")
	assert.Equal(t, full.Env["E"], "one")
	assert.Equal(t, [...]string{full.Fingerprint(), full.Name}, [...]string{all.Fingerprint(), all.Name})
	before := asked
	assert.Equal(t, [...]any{assert.Value(all.Answered(t.Context()))(t).Hash(), asked}, [...]any{full.Hash(), before})
	full = assert.Value(web.Answered(t.Context()))(t)
	assert.Equal(t, full.URL, "https://said/a.example")
	assert.Equal(t, full.Headers["X"], "Bearer key")
	off := assert.Value(servers["off"].Answered(t.Context()))(t)
	assert.True(t, off.Disabled, "disabled")
	assert.Equal(t, off.Args[0], "said")
	renamed := *all // as Merge does
	renamed.Name, renamed.Disabled = "all_2", true
	full = assert.Value(renamed.Answered(t.Context()))(t)
	assert.Equal(t, full.Name, "all_2")
	assert.True(t, full.Disabled, "disabled")
	assert.Contains(t, fmt.Sprint(assert.Err(servers["editor"].Answered(t.Context()))), "command of the editor")
}

// What is started must be known before it is approved.
func TestAskedEarly(t *testing.T) {
	servers, _ := loadAsking(t, ScopeRC, Options{Secrets: NewSecrets()})
	for _, name := range []string{"early", "login", "box"} {
		assert.Is(t, servers[name].Err, errAskedEarly, "%s", name)
	}
	assert.Contains(t, fmt.Sprint(servers["unknown"].Err), "not described", "unknown")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := servers["all"].Answered(ctx)
	assert.Is(t, err, context.Canceled, "with an ended context")
	_, err = servers["all"].Answered(t.Context())
	assert.Contains(t, fmt.Sprint(err), "of ${keyring:name} is not there", "without answers")
	assert.Is(t, err, errNoAnswer, "without answers")
}

// The user's own entries are answered when they are read.
func TestAnsweredAtOnce(t *testing.T) {
	secrets := NewSecrets()
	assert.OK(t, secrets.SetSecret(t.Context(), "k", "key"))
	servers, _ := loadAsking(t, ScopeUser, Options{Secrets: secrets,
		Input: func(context.Context, Input) (Secret, error) { return "said", nil }})
	all := servers["all"]
	assert.Equal(t, [...]any{assert.Value(all.Answered(t.Context()))(t), all.Args[1]}, [...]any{all, "said"})
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
			assert.Equal(t, assert.Err(servers[[]string{"all", "web"}[i%2]].Answered(t.Context())), nil)
		})
	}
	wg.Wait()
	assert.True(t, asked <= 2, "asked %d times", asked)
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
		return assert.Value(Parse(t.Context(), file, []byte(`{"mcpServers":{"github":{"command":"x"}}}`), &Options{Scope: scope}))(t)
	}
	m := Merge(one("project.json", ScopeProject), one("user.json", ScopeUser), one("odd.json", "odd"), one("program.json", ScopeProgram))
	assert.Equal(t, len(m.Servers), 1)
	assert.Equal(t, [...]any{m.Servers[0].Source.File, len(m.Shadowed)}, [...]any{"program.json", 3})
	m = Merge(one("user.json", ScopeUser), one("project.json", ScopeProject))
	assert.Equal(t, len(m.Shadowed), 1)
	assert.Equal(t, m.Shadowed[0].Server.Source.File, "user.json")
	assert.True(t, m.Servers[0].Source.Scope.NeedsApproval(), "m.Servers[0].Source.Scope.NeedsApproval()")
}
