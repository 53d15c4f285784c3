package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// managers are what the keys of these tests may.
var managers = map[string]*access.Grant{
	"none":    nil,
	"use":     {},
	"reads":   {ReadOnly: true},
	"manager": {Manage: true},
	"team":    {Manage: true, Mode: "search"},
}

// openManaged opens a site with a manager over the servers of a file, and a key in X-Key for each grant.
func openManaged(t *testing.T, path string, o *gateway.Options) (*site, *manage.Manager) {
	t.Helper()
	ho := hosttest.Patient(&host.Options{
		StateDir: filepath.Join(filepath.Dir(path), "state"),
		Registry: registry.New(&registry.Options{Results: &result.Options{}}), // for read_result
	})
	gateway.Prepare(ho)
	m := assert.Value(manage.Open(hosttest.Watchdog(t), path, &manage.Options{Host: *ho}))(t)
	o.Manager = m
	o.Authenticate = func(r *http.Request) (*access.Caller, error) {
		key := r.Header.Get("X-Key")
		return &access.Caller{Credential: key, Grant: managers[key]}, nil
	}
	g := assert.Value(gateway.New(m.Host(), o))(t)
	s := &site{host: m.Host(), gateway: g, client: &http.Client{Transport: &http.Transport{}}}
	web := httptest.NewServer(g)
	s.url = web.URL
	t.Cleanup(func() {
		s.close(t)
		web.CloseClientConnections()
		web.Close()
		if err := m.Close(); err != nil {
			t.Errorf("Close of the manager: got %v, want no error", err)
		}
	})
	return s, m
}

func noCode(func(*registry.Definition) bool) registry.Tool {
	return registry.MustFunc("code_execution", "", func(context.Context, struct{}) (string, error) { return "", nil })
}

// No client has a program run by adding or changing a server before a person has allowed it: in no mode, with no key, and not
// after a restart.
func TestServersNeverStart(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	path := filepath.Join(dir, "mcp.json")
	own := assert.Value(os.Executable())(t)
	entry := fmt.Sprintf(`{"mcpServers":{"own":{"command":%q,"env":{%q:"x"}}}}`, own, hosttest.ServerMode)
	assert.OK(t, os.WriteFile(path, []byte(entry), 0o600))
	s, m := openManaged(t, path, &gateway.Options{Code: noCode, AnswerWithin: 1 << 40, Profiles: map[string]gateway.Profile{"part": {Servers: []string{"canary*"}}}})
	// canary returns a program that leaves a trace when it is run.
	canary := func(n int) string {
		return fmt.Sprintf(`{"command":"/bin/sh","args":["-c","echo %d >> %s"]}`, n, ran)
	}
	n, added := 0, 0
	for key := range managers {
		for _, view := range []string{"", "/p/part", "/s/own"} {
			for _, mode := range []string{"direct", "search", "code"} {
				for _, revision := range both {
					n++
					c := s.scripted(t, scripted{name: "x", path: view + "/mcp/" + mode, revision: revision, header: map[string]string{"X-Key": key}})
					tools, raw := c.list(t)
					may := (key == "manager" || key == "team") && view != "/s/own"
					assert.Equal(t, tools["upstream_servers"] != nil, may, "%s with the key %s: the tool listed", c.path, key)
					if mode == "search" && len(raw) >= 4000 {
						t.Errorf("%s: got a list of %d bytes, want less than 4,000", c.path, len(raw))
					}
					name := fmt.Sprintf("canary%d", n)
					for i, args := range []string{
						fmt.Sprintf(`{"operation":"add","name":%q,"server":%s}`, name, canary(n)),
						fmt.Sprintf(`{"operation":"disable","name":%q}`, name),
						fmt.Sprintf(`{"operation":"enable","name":%q}`, name),
						fmt.Sprintf(`{"operation":"update","name":%q,"server":{"env":{"A":"1"}}}`, name),
						fmt.Sprintf(`{"operation":"add","name":"u%s","server":{"url":%q}}`, name, s.url+"/canary"),
					} {
						m, text := c.call(t, "upstream_servers", args)
						switch {
						case !may:
							other := s.do(t, c.shot("tools/call", `"name":"upstream_server","arguments":`+args)).message(t)
							if m.Error == nil || other.Error == nil || strings.ReplaceAll(other.Error.Message, "upstream_server", "upstream_servers") != m.Error.Message {
								t.Errorf("%s with the key %s: %s: got %s %+v, want the answer to an unknown tool, %+v", c.path, key, args, m.Result, m.Error, other.Error)
							}
						case view == "/p/part" && i == 4:
							assert.Contains(t, text, "you may not add a server of the name", "%s: %s", c.path, args)
						case i == 1:
						case !strings.Contains(text, "a person has to allow its launch first"):
							t.Errorf("%s with the key %s: %s: got %q %+v, want that a person has to allow it", c.path, key, args, text, m.Error)
						default:
							added++
						}
					}
				}
			}
		}
	}
	if added == 0 {
		t.Fatal("got no server added, want some")
	}
	c := s.scripted(t, scripted{name: "x", path: "/mcp/search", revision: "2025-11-25", header: map[string]string{"X-Key": "manager"}})
	if got := hosttest.Status(t, m.Host(), "own").Stage; got != host.StageReady {
		t.Fatalf("got the server of the user as %s, want it ready", got)
	}
	c.call(t, "upstream_servers", `{"operation":"update","name":"own","server":{"description":"x"}}`)
	assert.Equal(t, hosttest.Status(t, m.Host(), "own").Stage, host.StageReady, "the server of the user as after another description")
	if _, text := c.call(t, "upstream_servers", fmt.Sprintf(`{"operation":"update","name":"own","server":%s}`, strings.Replace(canary(0), "{", `{"env":null,`, 1))); !strings.Contains(text, "a person has to allow its launch first") {
		t.Errorf("got %q for another program of the user's server, want that a person has to allow it", text)
	}
	assert.Equal(t, hosttest.Status(t, m.Host(), "own").Stage, host.StageNotAllowed, "the server of the user as with another program")
	again := assert.Value(host.Open(hosttest.Watchdog(t), path, hosttest.Patient(&host.Options{StateDir: filepath.Join(dir, "state")})))(t)
	if got, want := len(again.PendingLaunches()), len(m.Host().PendingLaunches()); got != want || got < added/4 {
		t.Errorf("got %d launches that wait after a restart, want %d", got, want)
	}
	assert.OK(t, again.Close())
	if data, err := os.ReadFile(ran); err == nil {
		t.Errorf("got the canaries %q run, want none", data)
	}
	pending := m.Host().PendingLaunches()
	i := slices.IndexFunc(pending, func(l *consent.Launch) bool { return l.Server == "own" })
	if i < 0 {
		t.Fatalf("got no launch of the user's server that waits, want one")
	}
	_ = m.Host().AllowLaunch(hosttest.Watchdog(t), "ann", pending[i].Fingerprint()) // it is no server
	if data, err := os.ReadFile(ran); err != nil || !strings.HasPrefix(string(data), "0\n") {
		t.Errorf("got %q and %v, want that the program runs which a person has allowed", data, err)
	}
}

// What upstream_servers says of servers, and what it refuses.
func TestServersTool(t *testing.T) {
	path := hosttest.Write(t, "own", hosttest.Child(t, "x"), "off", `{"command":"none","enabled":false}`, "broken", `{"command":"/no/such/program-tok-0123456789","env":{"KEY":"sk-0123456789abcd"}}`, "odd", `{"args":1}`)
	s, _ := openManaged(t, path, &gateway.Options{Profiles: map[string]gateway.Profile{"part": {Servers: []string{"o*"}}}})
	all := s.scripted(t, scripted{name: "x", path: "/mcp", revision: "2025-11-25", header: map[string]string{"X-Key": "manager"}})
	part := s.scripted(t, scripted{name: "x", path: "/p/part/mcp", revision: "2025-11-25", header: map[string]string{"X-Key": "manager"}})
	if _, text := all.call(t, "upstream_servers", `{"operation":"add","name":"new","server":{"command":"/bin/true"}}`); !strings.Contains(text, "The fingerprint of the launch is ") {
		t.Errorf("got %q, want the fingerprint of the launch", text)
	}
	type row struct {
		Name, State, Reason string
		Tools               int
	}
	list := func(c *scripted) map[string]row {
		_, text := c.call(t, "upstream_servers", `{"operation":"list"}`)
		var got struct{ Servers []row }
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("got %q, want a list", text)
		}
		rows := map[string]row{}
		for _, r := range got.Servers {
			rows[r.Name] = r
		}
		return rows
	}
	eventually(t, "the broken server has failed", func() bool { return list(all)["broken"].State == "Error" })
	for name, want := range map[string]row{
		"own":    {State: "Ready", Tools: 1},
		"off":    {State: "Disconnected", Reason: "it is switched off"},
		"broken": {State: "Error", Reason: "/no/such/program"},
		"odd":    {State: "Error", Reason: `has neither "command" nor "url"`},
		"new":    {State: "Disconnected", Reason: "a person has to allow its launch first"},
	} {
		got := list(all)[name]
		if got.State != want.State || got.Tools != want.Tools || !strings.Contains(got.Reason, want.Reason) || (got.Reason == "") != (want.Reason == "") {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	if got := list(part); len(got) != 3 || got["broken"].Name != "" || got["new"].Name != "" {
		t.Errorf("got %v in a part, want its servers", got)
	}
	for _, c := range []struct {
		client     *scripted
		args, want string
	}{
		{all, `{}`, "there is no operation"},
		{all, `{"operation":"start"}`, "there is no operation"},
		{all, `{"operation":"add"}`, `"name" is missing`},
		{all, `{"operation":"add","name":"x"}`, `"server" is missing`},
		{all, `{"operation":"add","name":"x","server":7}`, "must not be there"},
		{all, `{"operation":"add","name":"x","server":{}}`, "command"},
		{all, `{"operation":"add","name":"own","server":{"command":"x"}}`, "own"},
		{all, `{"operation":"add","name":"x","server":{"command":"x","trust":true}}`, `must not have "trust"`},
		{all, `{"operation":"update","name":"own","server":{"quarantined":false}}`, `must not have "quarantined"`},
		{all, `{"operation":"update","name":"new","server":{"proposed":false}}`, `must not have "proposed"`},
		{all, `{"operation":"update","name":"new","server":{"name":"own"}}`, `must not have "name"`},
		{all, `{"operation":"update","name":"broken","server":{"command":"/bin/sh"}}`, "was entered for another address or program"},
		{all, `{"operation":"update","name":"nope","server":{"command":"x"}}`, "nope"},
		{all, `{"operation":"remove","name":"nope"}`, "nope"},
		{part, `{"operation":"remove","name":"broken"}`, "broken"},
		{part, `{"operation":"update","name":"new","server":{"description":"x"}}`, "new"},
	} {
		m, text := c.client.call(t, "upstream_servers", c.args)
		if !strings.Contains(text, c.want) || !strings.Contains(string(m.Result), `"isError":true`) {
			t.Errorf("%s: %s: got %q %+v, want an error with %q", c.client.path, c.args, text, m.Error, c.want)
		}
		assert.Lacks(t, text, "sk-0123456789abcd", "%s: got a secret in", c.args)
	}
	if _, text := part.call(t, "upstream_servers", `{"operation":"remove","name":"off"}`); text != `The server "off" was removed.` {
		t.Errorf("got %q, want that it was removed", text)
	}
	if _, text := all.call(t, "upstream_servers", `{"operation":"disable","name":"own"}`); text != `The server "own" was switched off.` {
		t.Errorf("got %q, want that it was switched off", text)
	}
	if _, text := all.call(t, "upstream_servers", `{"operation":"enable","name":"own"}`); text != `The server "own" was switched on.` {
		t.Errorf("got %q, want that it was switched on", text)
	}
	if got := list(all); got["own"].State != "Ready" || got["off"].Name != "" {
		t.Errorf("got %v, want what was switched on, and not what was removed", got)
	}
}
