package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/transport"
)

func codes(list []Hint) string {
	var all []string
	for _, h := range list {
		all = append(all, h.Code)
	}
	return strings.Join(all, " ")
}

// What took too long is told by how far it came, and by what was started.
func TestHintForTime(t *testing.T) {
	late := &mcp.UnavailableError{Server: "s", Err: context.DeadlineExceeded}
	for _, c := range []struct {
		command string
		reached string
		want    string
		text    string
	}{
		//report: Processes | aj47/SpeakMCP#144, NVIDIA/NemoClaw#5670, ChromeDevTools/chrome-devtools-mcp#215 | npx waits for a yes before it installs | the hint of the timeout names the argument -y
		{"npx", testSpawned, "timeout", "-y"},
		//report: Processes | MervinPraison/PraisonAI#5099, thedotmack/claude-mem#2920, palewire/datawrapper-mcp#82, BlockRunAI/blockrun-mcp#146 | the first start downloads packages for longer than a client waits | the hint says so, and names "connectTimeoutSeconds"
		{"/usr/bin/uvx", testSpawned, "timeout", "connectTimeoutSeconds"},
		//report: Processes | jmrplens/gitlab-mcp-server#60, stickerdaniel/linkedin-mcp-server#771 | a container listens at a port, or has no standard input, and never answers | the hint says that an entry of a server at a port needs "url"
		{"docker", testSpawned, "timeout", "listens at a port"},
		{"npx", testInitialized, "timeout", "readTimeoutSeconds"},
		{"server", testConnected, "timeout", `"url"`},
	} {
		tr := newTrouble(&config.Server{Transport: config.TransportStdio, Command: c.command}, late, newCleaner(&config.Server{}))
		tr.reached = c.reached
		list := tr.diagnose()
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
	const home = "/home/ann"
	e := &config.Server{
		URL:     "https://mcp.example/x?apikey=urlsecret1",
		Args:    []string{"--api-key", "argsecret1", "--token=argsecret2", "--verbose", "ordinary"},
		Env:     map[string]config.Secret{"TOKEN": "envsecret1", "HOME": home, "DEBUG": "1", "LONG_KEY": "envsecret1-and-more"},
		Headers: map[string]config.Secret{"Authorization": "Bearer headersecret1"},
	}
	text := newCleaner(e).text("urlsecret1 argsecret1 argsecret2 ordinary envsecret1 envsecret1-and-more " + home + "/x 1 headersecret1 Bearer headersecret1 \x1b[1m")
	want := "**** **** **** ordinary **** **** " + home + "/x 1 **** **** <U+001B>[1m"
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
	tools := cleanTools([]Tool{{Name: "t", Findings: []gate.Finding{{Field: "/envsecret1", Evidence: "envsecret1", Detail: "argsecret1\n"}}}}, newCleaner(e))
	f := tools[0].Findings[0]
	assert.Equal(t, f.Field, "/****", "a finding")
	assert.Equal(t, f.Evidence, "****", "a finding")
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
		assert.Equal(t, string(level)+" "+action, c.want, "%s", name)
	}
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
		{&transport.ExitError{Path: "npx", Code: 127}, false},
		{&transport.ExitError{Path: "npx", Signal: "killed"}, false},
		{refused("no such thing"), false},
		{errors.New("environment"), false},
	} {
		hints := codes(newTrouble(e, test.err, newCleaner(e)).diagnose())
		assert.Equal(t, strings.Contains(hints, string(hintUnsetVariable)), test.want, "got")
	}
	remote := &config.Server{Transport: config.TransportHTTP, URL: "http://127.0.0.1:1"}
	assert.Lacks(t, codes(newTrouble(remote, refused("environment"), newCleaner(remote)).diagnose()), string(hintUnsetVariable), "remote: got hints")
}

// TestHintForKeptVariables: a variable that this program has and its server does not is named where
// the failure is about it, and only there.
func TestHintForKeptVariables(t *testing.T) {
	for name, value := range map[string]string{
		"DOCKER_HOST": "unix:///run/user/1000/docker.sock", "KUBECONFIG": "/k", "JAVA_HOME": "/j", "SSH_AUTH_SOCK": "/s", "ACME_API_KEY": "v4lue", "AWS_PROFILE": "p", "DISPLAY": ":1",
		"HTTPS_PROXY": "http://ann:hunter2@proxy.example", "npm_config_registry": "https://r.example",
	} {
		t.Setenv(name, value)
	}
	for _, c := range []struct{ command, stderr, want string }{
		//report: Processes | containers/kubernetes-mcp-server#67, gke-labs/devops-bench#167, Flux159/mcp-server-kubernetes#148 | a server started by npx does not find the cluster that KUBECONFIG of the shell names | the hint names KUBECONFIG, and how to pass it on
		{"npx", "Error: no configuration has been provided, try setting KUBERNETES_MASTER or kubernetes context", "KUBECONFIG"},
		//report: Processes | QuantGeekDev/docker-mcp#21 | a server of npx that talks to docker does not get DOCKER_HOST, and tries the usual socket | the hint names DOCKER_HOST
		{"npx", "Error: connect ENOENT /var/run/docker.sock", "DOCKER_HOST"},
		{"uvx", "ERROR: JAVA_HOME is not set and no 'java' command could be found in your PATH.", "JAVA_HOME"},
		{"uvx", "git@github.com: Permission denied (publickey).", "SSH_AUTH_SOCK"},
		//report: Processes | anthropics/claude-code#38381, anthropics/claude-code#44316, kirodotdev/Kiro#7555 | a server says that a variable is missing, and the shell has it | the hint names that variable
		{"npx", "Missing required environment variable ACME_API_KEY", "ACME_API_KEY"},
		//report: Processes | kirodotdev/Kiro#10118 | uvx cannot reach its registry, since the proxy is not passed on | proxies are passed on; one with a password is not, and the hint names it
		{"uvx", "error: Failed to fetch: https://pypi.org/simple/x/ operation timed out", "HTTPS_PROXY"},
		{"npx", "npm error code E404 - not found in the registry", "npm_config_registry"},
		{"python", "botocore.exceptions.NoCredentialsError: Unable to locate credentials", "AWS_PROFILE"},
		{"npx", "Looks like you launched a headed browser without having a XServer running.", "DISPLAY"},
		// docker has it, so that it is not the reason.
		{"docker", "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", ""},
		{"npx", "TypeError: undefined is not a function", ""},
		{"npx", "Missing OTHER_API_KEY", ""},
	} {
		e := &config.Server{Transport: config.TransportStdio, Command: c.command}
		said := fmt.Sprint(newTrouble(e, &transport.ExitError{Path: c.command, Code: 1, Stderr: c.stderr}, newCleaner(e)).diagnose())
		assert.Equal(t, strings.Contains(said, "is set where this program runs"), c.want != "", "%s: %s: %s", c.command, c.stderr, said)
		assert.Contains(t, said, c.want, "%s: %s", c.command, c.stderr)
		assert.Lacks(t, said, "v4lue", "%s: %s", c.command, c.stderr)
		assert.Lacks(t, said, "hunter2", "%s: %s", c.command, c.stderr)
		if c.want != "" {
			e.Env = map[string]config.Secret{c.want: "own"}
			said = fmt.Sprint(newTrouble(e, &transport.ExitError{Path: c.command, Code: 1, Stderr: c.stderr}, newCleaner(e)).diagnose())
			assert.Lacks(t, said, "is set where this program runs", "%s: with its own %s", c.command, c.want)
		}
	}
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
		"path":   fmt.Sprint(trouble.diagnose()),
		"page":   fmt.Sprint(page.diagnose()),
		"error":  trouble.clean.text(trouble.err.Error()),
		"stderr": exited.stderr + fmt.Sprint(exited.diagnose()),
	} {
		for _, secret := range []string{"q7x", "pw7x", "pw8x"} {
			assert.False(t, shown == "", "%s", name)
			assert.False(t, shown == "[]", "%s", name)
			assert.Lacks(t, shown, secret, "%s", name)
		}
	}
}
