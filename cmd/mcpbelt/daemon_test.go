//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

const labServer = `"lab": {SERVER: {"FLAGS": "-features -mark DIR/mark"}}`

// started returns how often the test server was started.
func (w *world) started() int {
	data, _ := os.ReadFile(filepath.Join(w.dir, "mark"))
	return strings.Count(string(data), "started")
}

// Commands use the servers of a daemon, which hold all that they hold without one.
func TestDaemon(t *testing.T) {
	w := newWorld(t, labServer)
	w.run("tools", "lab") // accepted without the daemon
	d := w.start("daemon")
	d.await("listening on")
	socket := filepath.Join(w.dir, "s", "mcpbelt", "run", "daemon.sock")
	assert.Equal(t, assert.Value(os.Stat(socket))(t).Mode().Perm(), 0o600)
	w.run("call", "lab", "arguments", "text=a", "--yes")
	before := w.started()
	for range 3 {
		assert.Equal(t, w.run("call", "lab", "arguments", "text=a", "--yes"), "{\"text\":\"a\"}\n")
	}
	for _, args := range [][]string{{"tools", "lab"}, {"search", "add"}, {"describe", "lab", "sum"}, {"read", "lab", "docs://readme"}, {"prompt", "lab", "review", "text=a"}, {"resources", "lab"}} {
		assert.Contains(t, w.run(args...), "a", "%s", args)
	}
	assert.Equal(t, w.started(), before)
	w.run("call", "lab", "arguments", "--yes", "--no-daemon")
	assert.Equal(t, w.started(), before+1)
	assert.Contains(t, w.run("top"), "ready", "top")

	// A server of the daemon asks the user of the command.
	w.write("form.txt", "Ada\nsend\n")
	greet := w.command("-stdin", "form.txt", "mcpbelt", "call", "lab", "greet", "-y")
	greet.Args[0] = "pty"
	assert.Contains(t, string(assert.Value(greet.Output())(t)), "accept: hello, Ada")

	// What was lost in the daemon is no failure of the tool.
	lost := w.command("call", "lab", "die", "--yes")
	_ = lost.Run()
	assert.Equal(t, lost.ProcessState.ExitCode(), 6)

	// A second one does not take the socket of the first.
	second := w.command("daemon")
	_ = second.Run()
	assert.Equal(t, second.ProcessState.ExitCode(), 1)
	w.run("daemon", "--stop")
	for d.lines.Scan() {
	}
	assert.OK(t, d.Wait())
	assert.Contains(t, w.run("logs", "lab"), "arguments", "logs")
}

// A list of tools is as long by a daemon as without it.
func TestDaemonShowsAllTools(t *testing.T) {
	w := newWorld(t, `"big": {SERVER: {"FLAGS": "-many 900"}}`)
	want := w.run("tools", "big", "--brief")
	d := w.start("daemon")
	d.await("listening on")
	assert.Equal(t, w.run("tools", "big", "--brief"), want)
	d.end(syscall.SIGTERM)
}

// A daemon that is killed leaves neither a process nor a socket in the way.
func TestDaemonKilled(t *testing.T) {
	w := newWorld(t, labServer)
	d := w.start("daemon")
	d.await("listening on")
	w.run("call", "lab", "arguments", "--yes")
	pid := w.awaitFile("mark", "started")
	d.end(syscall.SIGKILL)
	awaitGone(t, pid)
	w.run("call", "lab", "arguments", "--yes")
	again := w.start("daemon", "--idle", "1ms")
	again.await("listening on")
	for again.lines.Scan() {
	}
	assert.OK(t, again.Wait())
}

// Logs that are followed show each event once.
func TestLogsFollow(t *testing.T) {
	w := newWorld(t, "")
	file, err := activity.OpenFile(filepath.Join(w.dir, "s", "mcpbelt", "activity.jsonl"))
	assert.OK(t, err)
	write := func(server string, ids ...string) {
		t.Helper()
		for _, id := range ids {
			assert.OK(t, file.Write(t.Context(), []activity.Event{{ID: id, Time: time.Now().UTC(), Kind: "call", Server: server}}))
		}
	}
	write("lab", "a", "b", "c")
	logs := w.start("logs", "lab", "--follow", "--json", "--limit", "2")
	var got []string
	await := func(id string) {
		t.Helper()
		for len(got) == 0 || got[len(got)-1] != id {
			var e activity.Event
			assert.True(t, logs.lines.Scan(), "a line follows the events %v", got)
			assert.OK(t, json.Unmarshal(logs.lines.Bytes(), &e), "%q", logs.lines.Text())
			got = append(got, e.ID)
		}
	}
	await("c")
	write("other", "x")
	write("lab", "d", "e")
	await("e")
	write("lab", "f")
	await("f")
	assert.Equal(t, fmt.Sprintf("%q", got), `["b" "c" "d" "e" "f"]`)
	assert.Equal(t, logs.end(syscall.SIGINT), 130, "the exit")
}

// In the mode code a client runs scripts over the tools, in a process of the command itself.
func TestServeScripts(t *testing.T) {
	s := newWorld(t, labServer).start("serve", "--listen", "127.0.0.1:0", "--json", "--no-key")
	var shown struct{ URL string }
	assert.OK(t, json.Unmarshal([]byte(s.await("url")), &shown))
	client := mcp.NewClient("belt", &transport.HTTP{URL: shown.URL + "/code"}, nil)
	defer client.Close()
	for tool, want := range map[string]string{
		"echo":      "a+b",              // which only reads
		"arguments": `"waiting":[{"app`, // which may destroy something
	} {
		code := `{"code":"const all = await Promise.all(['a','b'].map(text => tools.lab.` + tool + `({text}))); return all.map(x => x.text ?? x).join('+')"}`
		res := assert.Value(client.CallTool(t.Context(), "code_execution", json.RawMessage(code), nil))(t)
		assert.Contains(t, res.Text(), want, "a script that calls %s", tool)
	}
	s.end(syscall.SIGTERM)
}

// A client that is known to ask nobody has its calls asked about, and another has not.
func TestServeAsksForClientsThatDoNot(t *testing.T) {
	//report: Gateway | danny-avila/LibreChat#5580, danny-avila/LibreChat#11349 | the client lets its model call tools without asking anybody | `mcpbelt serve` asks about calls that may destroy something
	s := newWorld(t, labServer).start("serve", "--listen", "127.0.0.1:0", "--json", "--no-key")
	var shown struct{ URL string }
	assert.OK(t, json.Unmarshal([]byte(s.await("url")), &shown))
	for name, asks := range map[string]bool{"@librechat/api-client": true, "claude-code": false} {
		asked := 0
		client := mcp.NewClient("belt", &transport.HTTP{URL: shown.URL}, &mcp.ClientOptions{
			Implementation: &mcp.Implementation{Name: name, Version: "1"},
			Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked++
				return &mcp.ElicitResult{Action: "decline"}, nil
			},
		})
		for tool, want := range map[string]bool{"lab__echo": false, "lab__arguments": asks} {
			asked = 0
			_ = assert.Value(client.CallTool(t.Context(), tool, json.RawMessage(`{"text":"a"}`), nil))(t)
			assert.Equal(t, asked == 1, want, "%s calls %s, and its user is asked", name, tool)
		}
		assert.OK(t, client.Close())
	}
	s.end(syscall.SIGTERM)
}

// The user of the client that runs a script is asked once about all its calls.
func TestServePlan(t *testing.T) {
	s := newWorld(t, labServer).start("serve", "--listen", "127.0.0.1:0", "--json", "--no-key", "--ask")
	var shown struct{ URL string }
	assert.OK(t, json.Unmarshal([]byte(s.await("url")), &shown))
	for _, decision := range []string{"Approve all of them", "Refuse"} {
		var asked []string
		client := mcp.NewClient("belt", &transport.HTTP{URL: shown.URL + "/code"}, &mcp.ClientOptions{
			Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked = append(asked, r.Params.Message)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}, nil
			},
		})
		code := `{"ask_once":true,"code":"let n = 0; for (const text of ['a','b','c']) { await tools.lab.arguments({text}); n++ } return 'made ' + n"}`
		res := assert.Value(client.CallTool(t.Context(), "code_execution", json.RawMessage(code), nil))(t)
		assert.Equal(t, len(asked), 1, "%s", decision)
		assert.Contains(t, asked[0], `lab__arguments {"text":"b"}`, "%s", decision)
		assert.Equal(t, strings.Contains(res.Text(), "made 3"), decision != "Refuse", "%s: %q has the calls", decision, res.Text())
		_ = client.Close()
	}
	s.end(syscall.SIGTERM)
}

// Serve is one server over HTTP, for those who have the key.
func TestServe(t *testing.T) {
	w := newWorld(t, labServer)
	s := w.start("serve", "--listen", "127.0.0.1:0", "--json", "--ask")
	var shown struct{ URL, Key string }
	assert.OK(t, json.Unmarshal([]byte(s.await("url")), &shown))
	res := assert.Value(http.Post(shown.URL, "application/json", strings.NewReader("{}")))(t)
	_ = res.Body.Close()
	assert.Equal(t, res.StatusCode, http.StatusUnauthorized, "the status without the key")
	var key struct{ ID, Secret string } // for a server that there is not
	assert.OK(t, json.Unmarshal([]byte(w.run("keys", "create", "other", "--server", "other", "--json")), &key))
	narrow := mcp.NewClient("belt", &transport.HTTP{URL: shown.URL, Header: http.Header{"Authorization": {"Bearer " + key.Secret}}}, nil)
	defer narrow.Close()
	tools, err := narrow.Tools(t.Context())
	for err != nil && t.Context().Err() == nil { // serve looks for new keys every two seconds
		tools, err = narrow.Tools(t.Context())
	}
	assert.Equal(t, len(tools), 0, "a key for another server: tools")
	w.run("keys", "revoke", key.ID)
	client := mcp.NewClient("belt", &transport.HTTP{URL: shown.URL, Header: http.Header{"Authorization": {"Bearer " + shown.Key}}}, nil)
	defer client.Close()
	answers := make(chan string, 1)
	call := func() {
		res, err := client.CallTool(t.Context(), "lab__arguments", json.RawMessage(`{"text":"a"}`), nil)
		if err != nil {
			answers <- err.Error()
			return
		}
		answers <- res.Text()
	}
	for verdict, want := range map[string]string{"": `{"text":"a"}`, "--deny": "not allowed"} {
		go call()
		id := w.awaitCall()
		assert.Contains(t, <-answers, id)
		args := []string{"approve", id}
		if verdict != "" {
			args = append(args, verdict)
		}
		w.run(args...)
		go call() // whose outcome is known
		assert.Contains(t, <-answers, want)
	}
	none := w.command("approve", "nothing")
	_ = none.Run()
	assert.Equal(t, none.ProcessState.ExitCode(), 3)
	assert.Equal(t, s.end(syscall.SIGTERM), 0, "the exit")
}

// awaitCall returns the id of a call that waits.
func (w *world) awaitCall() string {
	w.t.Helper()
	for w.t.Context().Err() == nil {
		var shown struct{ Calls []struct{ ID string } }
		assert.OK(w.t, json.Unmarshal([]byte(w.run("approve", "--json")), &shown))
		if len(shown.Calls) > 0 {
			return shown.Calls[0].ID
		}
	}
	w.t.Fatal("got no call that waits")
	return ""
}

// SIGTERM lets a call under way finish.
func TestServeDrains(t *testing.T) {
	w := newWorld(t, labServer)
	w.write("key", "a key that is long enough")
	s := w.start("serve", "--listen", "127.0.0.1:0", "--json", "--key-file", "key")
	var shown struct{ URL string }
	assert.OK(t, json.Unmarshal([]byte(s.await("url")), &shown))
	client := mcp.NewClient("belt", &transport.HTTP{URL: shown.URL, Header: http.Header{"Authorization": {"Bearer a key that is long enough"}}}, nil)
	defer client.Close()
	answer := make(chan string, 1)
	go func() {
		file, _ := json.Marshal(map[string]string{"text": filepath.Join(w.dir, "go on")})
		res, err := client.CallTool(t.Context(), "lab__hang", file, nil)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- res.Text()
	}()
	w.awaitFile("mark", "called")
	assert.OK(t, s.Process.Signal(syscall.SIGTERM))
	w.write("go on", "")
	assert.Equal(t, <-answer, "waited")
	for s.lines.Scan() {
	}
	assert.OK(t, s.Wait())
}

// BenchmarkWarmCall measures a call by a daemon, from the start of the command to its end.
func BenchmarkWarmCall(b *testing.B) {
	w := newWorld(b, labServer)
	d := w.start("daemon")
	d.await("listening on")
	w.run("call", "lab", "arguments", "--yes")
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		w.run("call", "lab", "arguments", "text=a", "--yes")
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	d.end(syscall.SIGTERM)
}

// An asked is what a request got.
type asked struct {
	status int
	body   string
}

// ask makes a request with a key.
func ask(t *testing.T, key, method, url, body string) asked {
	t.Helper()
	req := assert.Value(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	req.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res := assert.Value(http.DefaultClient.Do(req))(t)
	defer res.Body.Close()
	return asked{res.StatusCode, string(assert.Value(io.ReadAll(res.Body))(t))}
}

// Serve has the page and its API on the same address, each with a key of its own.
func TestServeAdmin(t *testing.T) {
	for role, may := range map[string]struct{ add, start int }{"--admin": {200, 403}, "--admin=stdio:write": {200, 200}, "--admin=view": {403, 403}} {
		w := newWorld(t, labServer)
		keys := assert.Value(access.OpenKeys(t.Context(), filepath.Join(w.dir, "s", "mcpbelt", "keys.json")))(t)
		manager, _, err := keys.Create(t.Context(), access.KeyOptions{Label: "manager", Grant: &access.Grant{Manage: true}})
		assert.OK(t, err)
		s := w.start("serve", "--listen", "127.0.0.1:0", "--json", role)
		var shown struct{ URL, Key, Admin, AdminKey string }
		assert.OK(t, json.Unmarshal([]byte(s.await("url")), &shown))
		base := strings.TrimSuffix(shown.URL, "/mcp")
		page, secret, ok := strings.Cut(shown.Admin, "#once=")
		assert.True(t, ok, "the page %s", shown.Admin)
		assert.True(t, len(secret) >= 20, "the page %s has a token", shown.Admin)
		assert.Equal(t, page, base+"/admin/", "the page %s", shown.Admin)
		for _, c := range []struct {
			key, method, path, body string
			status                  int
		}{
			{shown.Key, "GET", "/admin/servers/lab", "", 200},
			{shown.Key, "GET", "/admin/apps.js", "", 200},
			{shown.Key, "GET", "/api/v1/me", "", 401},
			{shown.AdminKey, "GET", "/api/v1/none", "", 404},
			{shown.AdminKey, "POST", "/mcp", "{}", 401},
			{shown.AdminKey, "GET", "/api/v1/keys", "", 200},
			{shown.AdminKey, "GET", "/api/v1/sessions", "", 200},
			{shown.AdminKey, "POST", "/api/v1/mcp/servers", `{"name":"far","transport":"streamable_http","url":"https://far.invalid/mcp","enabled":false}`, may.add},
			{manager, "GET", "/api/v1/servers", "", 200},
			{manager, "POST", "/api/v1/mcp/servers", `{"name":"away","transport":"streamable_http","url":"https://away.invalid/mcp","enabled":false}`, may.add},
			{manager, "POST", "/api/v1/mcp/servers", `{"name":"process","command":"near","enabled":false}`, 403},
			{shown.AdminKey, "POST", "/api/v1/mcp/servers", `{"name":"near","command":"near","enabled":false}`, may.start},
			{shown.AdminKey, "PUT", "/api/v1/mcp/servers/lab", `{"description":"as the page says"}`, may.start},
		} {
			assert.Equal(t, ask(t, c.key, c.method, base+c.path, c.body).status, c.status, "%s: %s %s", role, c.method, c.path)
		}
		file := assert.Value(os.ReadFile(filepath.Join(w.dir, "home", ".config", "mcpbelt", "mcp.json")))(t)
		for text, status := range map[string]int{"far.invalid": may.add, `"near"`: may.start, "as the page says": may.start} {
			assert.Equal(t, strings.Contains(string(file), text), status == 200, "%s: got %s in the config file", role, text)
		}
		assert.Contains(t, ask(t, shown.AdminKey, "GET", base+"/api/v1/servers", "").body, `"name":"lab"`, "%s", role)
		req := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v1/events", nil))(t)
		req.Header.Set("Authorization", "Bearer "+shown.AdminKey)
		events, err := http.DefaultClient.Do(req) // which does not keep it from ending
		assert.OK(t, err, "events")
		assert.Equal(t, events.StatusCode, http.StatusOK, "events")
		assert.Equal(t, s.end(syscall.SIGTERM), 0, "%s: the exit", role)
		_ = events.Body.Close()
	}
}
