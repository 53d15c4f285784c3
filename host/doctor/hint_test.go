package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
)

// troubleOn returns a trouble on a system, with a home folder and variables.
func troubleOn(goos, home string, env map[string]string, e *config.Server, err error) *trouble {
	t := newTrouble(e, err, newCleaner(e))
	t.goos, t.home, t.getenv = goos, home, func(name string) string { return env[name] }
	return t
}

// program makes a file that can be executed.
func program(t *testing.T, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	assert.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
	return path
}

func codes(list []Hint) string {
	var all []string
	for _, h := range list {
		all = append(all, string(h.Code))
	}
	return strings.Join(all, " ")
}

func notFound(name string) error {
	return &transport.StartError{Path: name, Err: &exec.Error{Name: name, Err: exec.ErrNotFound}}
}

// A program that a version manager keeps is found, and what to write is said: the
// newest version, and its folder for the programs that it starts.
func TestHintForVersionManagers(t *testing.T) {
	for _, folder := range []string{
		".nvm/versions/node/v22.1.0/bin", ".volta/bin", ".local/share/fnm/node-versions/v20/installation/bin",
		"Library/Application Support/fnm/node-versions/v20/installation/bin", ".asdf/shims", ".local/bin", ".bun/bin",
	} {
		home, bin := t.TempDir(), t.TempDir()
		found := program(t, home, folder, "npx-of-test")
		e := &config.Server{Transport: config.TransportStdio, Command: "npx-of-test"}
		tr := troubleOn("linux", home, map[string]string{"PATH": bin}, e, notFound("npx-of-test"))
		list := tr.diagnose(t.Context())
		if codes(list) != "command_not_in_path command_not_found" || !strings.Contains(list[0].Text, found) ||
			!strings.Contains(list[0].Text, filepath.Dir(found)+":"+bin) || !strings.Contains(list[1].Text, bin) {
			t.Errorf("%s: %v", folder, list)
		}
	}
	home := t.TempDir()
	program(t, home, ".nvm/versions/node/v18.0.0/bin/node-of-test")
	newest := program(t, home, ".nvm/versions/node/v22.0.0/bin/node-of-test")
	assert.Equal(t, troubleOn("linux", home, nil, &config.Server{}, nil).elsewhere("node-of-test"), newest, "found")
}

// On Windows programs have endings, and some are scripts.
func TestHintOnWindows(t *testing.T) {
	bin := t.TempDir()
	path := program(t, bin, "npx.cmd")
	env := map[string]string{"PATH": `C:\none;` + bin, "PATHEXT": ".COM;.EXE;.BAT;.CMD"}
	e := &config.Server{Transport: config.TransportStdio, Command: "npx"}
	tr := troubleOn("windows", "", env, e, notFound("npx"))
	assert.Equal(t, tr.search("npx", env["PATH"]), path, "found")
	list := tr.diagnose(t.Context())
	assert.Equal(t, codes(list), "command_not_found", "hints")
	assert.Contains(t, list[0].Text, `"/c"`, "hints")
	assert.True(t, tr.hasFolder(`C:\x\npx`), "what is a path")
	assert.False(t, tr.hasFolder("npx"), "what is a path")
	assert.False(t, troubleOn("linux", "", nil, e, nil).hasFolder(`a\b`), "what is a path")
}

// What is in PATH but cannot be executed, or is written a little differently, is told.
func TestHintForNearPrograms(t *testing.T) {
	bin := t.TempDir()
	env := map[string]string{"PATH": bin}
	file := program(t, bin, "mcp-server")
	e := &config.Server{Transport: config.TransportStdio, Command: "mcp_server", Env: map[string]config.Secret{"PATH": "/elsewhere"}}
	list := troubleOn("linux", "", env, e, notFound("mcp_server")).diagnose(t.Context())
	assert.Equal(t, codes(list), "command_not_found", "hints")
	assert.Contains(t, list[0].Text, `"mcp-server"`, "hints")
	assert.Contains(t, list[0].Text, `The PATH in "env"`, "hints")
	assert.OK(t, os.Chmod(file, 0o600))
	e.Command = "mcp-server"
	assert.Equal(t, codes(troubleOn("linux", "", env, e, notFound("mcp-server")).diagnose(t.Context())), "command_not_executable", "hints")
}

func TestNameEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"npx", "npx", 0}, {"npx", "NPX", 0}, {"npx", "npm", 1}, {"sleeep", "sleep", 1}, {"uvx", "vux", 2}, {"", "a", 1}, {"server", "sever", 1}} {
		assert.Equal(t, nameEdits(c.a, c.b), c.want, "%q, %q: edits", c.a, c.b)
	}
	assert.False(t, nameEdits("a", "abcdef") < 5, "names of very different length are near")
}

// What took too long is told by how far it came, and by what was started.
func TestHintForTime(t *testing.T) {
	late := &mcp.UnavailableError{Server: "s", Err: context.DeadlineExceeded}
	for _, c := range []struct {
		command string
		reached TestStage
		want    string
		text    string
	}{
		{"npx", TestSpawned, "timeout", "-y"},
		{"/usr/bin/uvx", TestSpawned, "timeout", "connectTimeoutSeconds"},
		{"docker", TestSpawned, "timeout", ""},
		{"npx", TestInitialized, "timeout", "readTimeoutSeconds"},
		{"server", TestSpawned, "timeout", `"url"`},
		{"server", TestConnected, "timeout", "handshake"},
	} {
		tr := newTrouble(&config.Server{Transport: config.TransportStdio, Command: c.command}, late, newCleaner(&config.Server{}))
		tr.reached = c.reached
		list := tr.diagnose(t.Context())
		assert.Equal(t, codes(list), c.want)
		assert.Contains(t, list[0].Text, c.text)
	}
}

// A proxy that fails is told from a server that does.
func TestHintForProxies(t *testing.T) {
	proxy := usesProxy(&config.Server{URL: "http://[::1"})
	assert.True(t, proxy == nil, "a proxy for no address")
}

// Secrets of an entry are found wherever it may hold them, and what is no secret stays.
func TestCleaner(t *testing.T) {
	home := t.TempDir()
	e := &config.Server{
		URL:     "https://mcp.example/x?apikey=urlsecret1",
		Args:    []string{"--api-key", "argsecret1", "--token=argsecret2", "--verbose", "ordinary"},
		Env:     map[string]config.Secret{"TOKEN": "envsecret1", "HOME": config.Secret(home), "DEBUG": "1", "LONG": "envsecret1-and-more"},
		Headers: map[string]config.Secret{"Authorization": "Bearer headersecret1"},
	}
	text := newCleaner(e).text("urlsecret1 argsecret1 argsecret2 ordinary envsecret1 envsecret1-and-more " + home + " 1 headersecret1 Bearer headersecret1 \x1b[1m")
	want := "[redacted] [redacted] [redacted] ordinary [redacted] [redacted] " + home + " 1 [redacted] [redacted] <U+001B>[1m"
	assert.Equal(t, text, want)
	for _, c := range []struct {
		entry *config.Server
		say   string
	}{
		{&config.Server{Args: []string{"run", "-e", "GITHUB_TOKEN=leaked-9", "img"}}, "leaked-9"},
		{&config.Server{Args: []string{"-H", "Authorization: Bearer leaked-9"}}, "leaked-9"},
		{&config.Server{Args: []string{"--header=X-Api-Key: leaked-9"}}, "leaked-9"},
		{&config.Server{Args: []string{"-u", "me:leaked-9"}}, "leaked-9"},
		{&config.Server{Args: []string{"pg://me:leaked-9@host/db"}}, "leaked-9"},
		{&config.Server{Args: []string{`{"token":"leaked-9"}`}}, "leaked-9"},
		{&config.Server{Auth: &config.Auth{ClientSecret: "leaked-9"}}, "leaked-9"},
		{&config.Server{URL: "https://h.example/s/leaked4a9b8c7d6e5f4a3b2c/mcp"}, "leaked4a9b8c7d6e5f4a3b2c"},
		{&config.Server{URL: "https://leaked-9@h.example/mcp"}, "leaked-9"},
	} {
		said := "https://h.example/mcp refused: " + c.say + "!"
		text := newCleaner(c.entry).text(said)
		assert.Lacks(t, text, "leaked")
		assert.Contains(t, text, "h.example")
		assert.Lacks(t, c.entry.MaskError(errors.New(said)), "leaked", "%+v: the log shows", c.entry)
	}
	tools := cleanTools([]Tool{{Name: "t", Findings: []Finding{{Field: "/envsecret1", Evidence: "envsecret1", Detail: "argsecret1\n"}}}}, newCleaner(e))
	f := tools[0].Findings[0]
	assert.Equal(t, f.Field, "/[redacted]", "a finding")
	assert.Equal(t, f.Evidence, "[redacted]", "a finding")
	assert.Lacks(t, f.Detail, "secret1", "a finding")
	assert.True(t, len(newCleaner(e).text(strings.Repeat("ä", cleanLongest))) <= cleanLongest+len("…"), "a text within the limit")
}

// What the numbers mean.
func TestJudge(t *testing.T) {
	counts := func(done, failed uint64) host.Calls {
		c := host.Calls{Recent: host.CallCounts{Done: done, Failed: failed}}
		if n := c.Recent.Judged(); n > 0 {
			rate := float64(failed) / float64(n)
			c.ErrorRate = &rate
		}
		return c
	}
	for name, c := range map[string]struct {
		health Health
		want   string
	}{
		"well":               {Health{Status: host.Status{Stage: host.StageReady}, Calls: counts(10, 0)}, "healthy none"},
		"too few to judge":   {Health{Status: host.Status{Stage: host.StageReady}, Calls: counts(0, 4)}, "healthy none"},
		"failing":            {Health{Status: host.Status{Stage: host.StageReady}, Calls: counts(5, 5)}, "unhealthy restart"},
		"shaky":              {Health{Status: host.Status{Stage: host.StageReady}, Calls: counts(9, 1)}, "degraded none"},
		"few errors":         {Health{Status: host.Status{Stage: host.StageReady}, Calls: counts(95, 5)}, "healthy none"},
		"cached":             {Health{Status: host.Status{Stage: host.StageCached}}, "healthy none"},
		"some quarantined":   {Health{Status: host.Status{Stage: host.StageReady, Tools: 1, Quarantined: 1}}, "degraded accept"},
		"all quarantined":    {Health{Status: host.Status{Stage: host.StageReady, Quarantined: 1}}, "unhealthy accept"},
		"some rejected":      {Health{Status: host.Status{Stage: host.StageReady, Tools: 1, Rejected: make([]registry.Rejection, 1)}}, "degraded none"},
		"without a watchdog": {Health{Status: host.Status{Stage: host.StageReady, State: mcp.State{Degraded: errors.New("no sh")}}}, "degraded none"},
		"listing fails":      {Health{Status: host.Status{Stage: host.StageReady, Err: errors.New("list")}}, "degraded wait"},
		"login":              {Health{Status: host.Status{Stage: host.StageLogin}}, "unhealthy login"},
		"not allowed":        {Health{Status: host.Status{Stage: host.StageNotAllowed}}, "unhealthy allow"},
		"starting":           {Health{Status: host.Status{Stage: host.StageStarting}}, "degraded wait"},
		"off":                {Health{Status: host.Status{Stage: host.StageDisabled}, Calls: counts(0, 9)}, "healthy enable"},
		"refused":            {Health{Status: host.Status{Stage: host.StageWaiting, Err: &transport.StatusError{Code: 403}}}, "unhealthy set_secret"},
		"moved":              {Health{Status: host.Status{Stage: host.StageWaiting, Err: &transport.RedirectError{Code: 301}}}, "unhealthy configure"},
		"down":               {Health{Status: host.Status{Stage: host.StageWaiting, Err: &transport.StatusError{Code: 503}}}, "unhealthy wait"},
	} {
		level, action := judge(&c.health)
		assert.Equal(t, string(level)+" "+string(action), c.want, "%s", name)
	}
}

func TestTestTimeout(t *testing.T) {
	assert.Equal(t, testTimeout(&config.Server{ConnectTimeout: time.Second, ReadTimeout: time.Minute}, nil), time.Minute+time.Second, "of the entry")
	assert.Equal(t, testTimeout(&config.Server{}, &TestOptions{}), 90*time.Second, "by default")
	assert.Equal(t, testTimeout(&config.Server{}, &TestOptions{Timeout: 5}), 5, "as asked")
	assert.Equal(t, testTimeout(&config.Server{}, &TestOptions{Timeout: -1}), -1, "without a limit")
}

// Who is used to the environment of a terminal learns that a server does not get it.
func TestHintForVariables(t *testing.T) {
	e := &config.Server{Transport: config.TransportStdio, Command: "npx"}
	refused := func(message string) error {
		return &mcp.ServerError{Err: &mcp.JSONRPCError{Code: -32000, Message: message}}
	}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{&transport.ExitError{Path: "npx", Code: 1}, true},
		{&transport.ExitError{Path: "npx", Code: 0}, false},
		{&transport.ExitError{Path: "npx", Code: 0, Stderr: "GITHUB_TOKEN environment variable is required"}, true},
		{&transport.ExitError{Path: "npx", Code: 127}, false},
		{&transport.ExitError{Path: "npx", Signal: "killed"}, false},
		{refused("set the env var GITHUB_TOKEN"), true},
		{refused("no such thing"), false},
		{errors.New("environment"), false},
	} {
		hints := codes(newTrouble(e, test.err, newCleaner(e)).diagnose(t.Context()))
		assert.Equal(t, strings.Contains(hints, string(HintUnsetVariable)), test.want, "got")
	}
	remote := &config.Server{Transport: config.TransportHTTP, URL: "http://127.0.0.1:1"}
	assert.Lacks(t, codes(newTrouble(remote, refused("environment"), newCleaner(remote)).diagnose(t.Context())), string(HintUnsetVariable), "remote: got hints")
}

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
			assert.False(t, shown == "", "%s", name)
			assert.False(t, shown == "[]", "%s", name)
			assert.Lacks(t, shown, secret, "%s", name)
		}
	}
}
