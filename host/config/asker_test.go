package config_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const inputFile = `{
	"inputs": [
		{"id": "key", "type": "promptString", "description": "The API key", "password": true},
		{"id": "level", "type": "pickString", "description": "How much", "options": ["low", "high"], "default": "low"},
		{"id": "cmd", "type": "command", "command": "editor.key"},
		{"id": "unused", "type": "promptString", "description": "Nobody needs it"}
	],
	"servers": {
		"one": {"command": "x", "args": ["${input:level}"], "env": {"KEY": "${input:key}", "TWICE": "a${input:key}b"}},
		"two": {"type": "http", "url": "https://h/", "headers": {"Authorization": "Bearer ${input:key}"}},
		"off": {"command": "x", "args": ["${input:unused}"], "disabled": true},
		"cmd": {"command": "x", "env": {"KEY": "${input:cmd}"}},
		"lost": {"command": "x", "env": {"KEY": "${input:lost}"}},
		"free": {"command": "x"}
	}
}`

// answers is an Options.Input that notes what it is asked.
type answers struct {
	byID  map[string]config.Secret
	asked []string
}

func (a *answers) ask(_ context.Context, in config.Input) (config.Secret, error) {
	a.asked = append(a.asked, in.ID)
	value, ok := a.byID[in.ID]
	if !ok {
		return "", errors.New("the user went away")
	}
	return value, nil
}

func inputOptions(a *answers, secrets config.SecretStore) *config.Options {
	opts := &config.Options{Scope: config.ScopeProgram, Format: "vscode", Secrets: secrets, Lookup: func(string) (string, bool) { return "", false }}
	if a != nil {
		opts.Input = a.ask
	}
	return opts
}

// server returns the one of that title.
func server(t *testing.T, c *config.Config, title string) *config.Server {
	t.Helper()
	i := slices.IndexFunc(c.Servers, func(s *config.Server) bool { return s.Title == title })
	if i < 0 {
		t.Fatalf("there is no server %q", title)
	}
	return c.Servers[i]
}

func parseInputs(t *testing.T, file string, opts *config.Options) *config.Config {
	t.Helper()
	return assert.Value(config.Parse(t.Context(), file, []byte(inputFile), opts))(t)
}

func TestInputsAreAskedOnce(t *testing.T) {
	a := &answers{byID: map[string]config.Secret{"key": "${HOME}$X", "level": "high"}}
	secrets := config.NewSecrets()
	c := parseInputs(t, "/p/.vscode/mcp.json", inputOptions(a, secrets))
	one := server(t, c, "one")
	assert.OK(t, one.Err)
	assert.Equal(t, one.Args[0], "high")
	assert.Equal(t, one.Env["KEY"], "${HOME}$X")
	assert.Equal(t, one.Env["TWICE"], "a${HOME}$Xb")
	two := server(t, c, "two")
	assert.OK(t, two.Err)
	assert.Equal(t, two.Headers["Authorization"], "Bearer ${HOME}$X")
	got := fmt.Sprint(a.asked)
	assert.True(t, got == "[level key]" || got == "[key level]", "asked %s", got)

	// The answers are remembered, for this file and this format.
	b := &answers{byID: a.byID}
	c = parseInputs(t, "/p/.vscode/mcp.json", inputOptions(b, secrets))
	one = server(t, c, "one")
	assert.True(t, one.Err == nil && one.Env["KEY"] == "${HOME}$X" && len(b.asked) == 0, "%v, asked %v", one.Err, b.asked)
	c = parseInputs(t, "/p/.vscode/mcp.json", inputOptions(nil, secrets))
	assert.OK(t, server(t, c, "one").Err, "without anybody to ask")
	parseInputs(t, "/q/.vscode/mcp.json", inputOptions(b, secrets))
	assert.Equal(t, len(b.asked), 2)
	assert.OK(t, secrets.SetSecret(t.Context(), config.InputSecret("/p/.vscode/mcp.json", "vscode", "key"), ""))
	b.asked = nil
	parseInputs(t, "/p/.vscode/mcp.json", inputOptions(b, secrets))
	assert.Equal(t, fmt.Sprint(b.asked), "[key]", "asked after one was forgotten")
}

func TestInputsWithoutAnswer(t *testing.T) {
	for name, opts := range map[string]*config.Options{
		"nobody":  inputOptions(nil, config.NewSecrets()),
		"nothing": inputOptions(nil, nil),
		"refused": inputOptions(&answers{}, nil),
	} {
		c := parseInputs(t, "/p/mcp.json", opts)
		for _, title := range []string{"one", "two"} {
			err := server(t, c, title).Err
			assert.Contains(t, err.Error(), "the input key (The API key", "%s", name)
			at := assert.As[*config.Error](t, err, "%s", name)
			assert.True(t, at.Line != 0, "%s: it has a line", name)
			assert.Contains(t, at.Key, title, "%s", name)
			assert.Equal(t, name != "refused", errors.Is(err, config.NoAnswer))
		}
		assert.OK(t, server(t, c, "free").Err, "%s: a server without inputs", name)
		for title, word := range map[string]string{"cmd": "command", "lost": "inputs", "off": "enable"} {
			assert.Contains(t, fmt.Sprint(server(t, c, title).Err), word, "%s: server %s", name, title)
		}
	}
}

func TestRefusedAnswerIsAskedOnce(t *testing.T) {
	a := &answers{}
	parseInputs(t, "/p/mcp.json", inputOptions(a, nil))
	slices.Sort(a.asked)
	assert.Equal(t, fmt.Sprint(a.asked), "[key level]")
}

func TestBadAnswers(t *testing.T) {
	for _, bad := range []config.Secret{"canary\n", "canary\r", "can\x00ary", config.Secret(strings.Repeat("c", 64<<10+1))} {
		secrets := config.NewSecrets()
		c := parseInputs(t, "/p/mcp.json", inputOptions(&answers{byID: map[string]config.Secret{"key": bad, "level": "canary"}}, secrets))
		one := server(t, c, "one")
		assert.Fails(t, one.Err)
		assert.Lacks(t, one.Err.Error(), "canary")
		assert.Lacks(t, one.Err.Error(), "cccc")
		assert.Contains(t, one.Err.Error(), "options", "what is no option was taken")
		for _, id := range []string{"key", "level"} {
			_, ok, err := secrets.Secret(t.Context(), config.InputSecret("/p/mcp.json", "vscode", id))
			assert.False(t, ok, "a bad answer to %s was remembered", id)
			assert.OK(t, err, "a bad answer to %s was remembered", id)
		}
	}
	// What is remembered can have become bad.
	secrets := config.NewSecrets()
	assert.OK(t, secrets.SetSecret(t.Context(), config.InputSecret("/p/mcp.json", "vscode", "level"), "medium"))
	a := &answers{byID: map[string]config.Secret{"key": "k", "level": "low"}}
	assert.Equal(t, server(t, parseInputs(t, "/p/mcp.json", inputOptions(a, secrets)), "one").Args[0], "low")
}

func TestInputsEndWithTheirContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(path, []byte(inputFile), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	opts := inputOptions(nil, nil)
	opts.Input = func(ctx context.Context, _ config.Input) (config.Secret, error) {
		asked++
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}
	c := assert.Value(config.Load(ctx, path, opts))(t)
	for _, title := range []string{"one", "two"} {
		assert.Is(t, server(t, c, title).Err, context.Canceled, "%s", title)
	}
	assert.Equal(t, asked, 1, "the user was asked times after the context had ended")
}

// brokenSecrets fail, and count.
type brokenSecrets struct{ reads int }

func (b *brokenSecrets) Secret(context.Context, string) (config.Secret, bool, error) {
	b.reads++
	return "", false, errors.New("locked")
}
func (b *brokenSecrets) SetSecret(context.Context, string, config.Secret) error {
	return errors.New("locked")
}

func TestKeyring(t *testing.T) {
	secrets := config.NewSecrets()
	for name, value := range map[string]config.Secret{"work/github": "s${X}", "lines": "a\nb"} {
		assert.OK(t, secrets.SetSecret(t.Context(), name, value))
	}
	text := `{"mcpServers": {
		"good": {"command": "x", "env": {"K": "${keyring:work/github}"}},
		"gone": {"command": "x", "env": {"K": "${keyring:other}"}},
		"lines": {"url": "https://h", "headers": {"K": "${keyring:lines}"}},
		"off": {"command": "x", "env": {"K": "${keyring:work/github}"}, "enabled": false},
		"empty": {"command": "x", "env": {"K": "${keyring:}"}}
	}}`
	parse := func(s config.SecretStore) *config.Config {
		return assert.Value(config.Parse(t.Context(), "mcp.json", []byte(text), &config.Options{Secrets: s}))(t)
	}
	c := parse(secrets)
	good := server(t, c, "good")
	assert.OK(t, good.Err)
	assert.Equal(t, good.Env["K"], "s${X}")
	assert.Contains(t, fmt.Sprint(server(t, c, "gone").Err), "the secret other of ${keyring:name} is not there")
	for _, title := range []string{"lines", "off", "empty"} {
		err := server(t, c, title).Err
		assert.Fails(t, err, "%s", title)
		assert.Lacks(t, err.Error(), "a\nb", "%s", title)
	}
	broken := &brokenSecrets{}
	assert.Contains(t, fmt.Sprint(server(t, parse(broken), "good").Err), "cannot be read: ")
	assert.Equal(t, broken.reads, 3, "the store was read times for three names")
	assert.Contains(t, fmt.Sprint(server(t, parse(nil), "good").Err), "Options.Secrets")
}

func TestSecretNames(t *testing.T) {
	s := config.NewSecrets()
	for _, name := range []string{"", " a", "a ", "a\nb", "a}b", "a{b", "\xff", strings.Repeat("a", 257)} {
		const want = "invalid name of a secret"
		_, _, err := s.Secret(t.Context(), name)
		assert.Contains(t, fmt.Sprint(err), want, "%q", name)
		assert.Contains(t, fmt.Sprint(s.SetSecret(t.Context(), name, "x")), want, "%q", name)
	}
	err := s.SetSecret(t.Context(), "a", config.Secret(strings.Repeat("s", 64<<10+1)))
	assert.Fails(t, err)
	assert.Lacks(t, err.Error(), "ss")
	seen := map[string]string{}
	long := strings.Repeat("x", 300)
	for _, at := range [][3]string{{"/a/f", "vscode", "k"}, {"/b/f", "vscode", "k"}, {"/a/f", "zed", "k"}, {"/a/f", "vscode", "l"},
		{"/a/f", "vscode", long}, {"/a/f", "vscode", long + "y"}, {"/a/f", "vscode", "a\nb"}, {"/a/f", "vscode", "#1"}} {
		name := config.InputSecret(at[0], at[1], at[2])
		_, _, err := s.Secret(t.Context(), name)
		assert.OK(t, err, "%q", at)
		assert.Equal(t, seen[name], "", "%q and meet", at)
		seen[name] = fmt.Sprint(at)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = s.Secret(ended, "a")
	assert.Is(t, err, context.Canceled)
}
