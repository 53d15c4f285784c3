package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A server is told that a call was cancelled, whichever way its client does it.
func TestCancellationPasses(t *testing.T) {
	server := newSDKServer()
	began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	addTool(server, "wait", func(ctx context.Context, _ *sdk.CallToolRequest, _ anyInput) string {
		began <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return ""
	})
	url, _, _ := newBelt(t, nil, server)
	for _, revision := range both {
		c := newUser(t, url+"/mcp", "", revision, nil)
		ctx, cancel := context.WithCancel(hosttest.Watchdog(t))
		go func() {
			<-began
			cancel()
		}()
		if _, err := c.CallTool(ctx, "belt__wait", nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want %v", revision, err, context.Canceled)
		}
		<-ended
	}
}

// While a server is silent a caller that asked for progress hears of it.
func TestHeartbeat(t *testing.T) {
	server := newSDKServer()
	goOn := make(chan struct{})
	addTool(server, "quiet", func(context.Context, *sdk.CallToolRequest, anyInput) string {
		<-goOn
		return "done"
	})
	url, _, _ := newBelt(t, &gateway.Options{Heartbeat: 10 * time.Millisecond}, server)
	for _, revision := range both {
		c := newUser(t, url+"/mcp", "", revision, nil)
		beats, last := 0, -1.0
		res, err := c.CallTool(hosttest.Watchdog(t), "belt__quiet", nil, &mcp.CallToolOptions{Progress: func(p *mcp.ProgressParams) {
			if p.Progress <= last {
				t.Errorf("%s: got the progress %v after %v, want more", revision, p.Progress, last)
			}
			last = p.Progress
			if beats++; beats == 5 {
				goOn <- struct{}{}
			}
		}})
		if err != nil || res.Text() != "done" {
			t.Errorf("%s: got %v, %v, want done", revision, res, err)
		}
	}
}

// A server may be silent for longer than a client waits without progress. MCPBELT_SOAK=1 is silent for
// 90 seconds and a client with the usual 60.
func TestSilentServer(t *testing.T) {
	if os.Getenv("MCPBELT_SOAK") == "" {
		t.Skip("takes 90 seconds")
	}
	server := newSDKServer()
	addTool(server, "quiet", func(context.Context, *sdk.CallToolRequest, anyInput) string {
		<-time.NewTimer(90 * time.Second).C
		return "done"
	})
	url, _, _ := newBelt(t, nil, server)
	var all sync.WaitGroup
	for _, revision := range both {
		all.Go(func() {
			c := newUser(t, url+"/mcp", "", revision, &mcp.ClientOptions{IdleTimeout: time.Minute})
			beats := 0
			res, err := c.CallTool(t.Context(), "belt__quiet", nil, &mcp.CallToolOptions{Progress: func(*mcp.ProgressParams) { beats++ }})
			if err != nil || res.Text() != "done" {
				t.Errorf("%s: got %v, %v after %d notifications of progress, want done", revision, res, err, beats)
			}
		})
	}
	all.Wait()
}

// A call that takes too long for its client is answered with an id, and is made once.
func TestAwaitCall(t *testing.T) {
	server := newSDKServer()
	goOn := make(chan struct{})
	var mu sync.Mutex
	made := 0
	addTool(server, "slow", func(context.Context, *sdk.CallToolRequest, anyInput) string {
		mu.Lock()
		made++
		mu.Unlock()
		<-goOn
		return "done"
	})
	url, _, _ := newBelt(t, &gateway.Options{AnswerWithin: 20 * time.Millisecond}, server)
	for i, revision := range both {
		ctx := hosttest.Watchdog(t)
		c := newUser(t, url+"/mcp", "", revision, nil)
		res, err := c.CallTool(ctx, "belt__slow", nil, nil)
		assert.OK(t, err)
		id, _ := res.Meta["mcpbelt/call"].(string)
		if id == "" {
			t.Fatalf("%s: got %s, want an id", revision, res.Raw())
		}
		args, _ := json.Marshal(map[string]string{"id": id})
		if res, err = c.CallTool(ctx, "await_call", args, nil); err != nil || res.Meta["mcpbelt/call"] != id {
			t.Errorf("%s: got %v, %v, want the id again", revision, res, err)
		}
		other := newUser(t, url+"/s/belt/mcp", "", revision, nil)
		if _, err := other.CallTool(ctx, "await_call", args, nil); err == nil {
			t.Errorf("%s: got no error for the id of another client, want one", revision)
		}
		close(goOn)
		for res.Text() != "done" {
			if res, err = c.CallTool(ctx, "await_call", args, nil); err != nil {
				t.Fatal(err)
			}
		}
		assert.Equal(t, made, i+1, "%s: calls", revision)
		goOn = make(chan struct{})
	}
}

// Any call can be a task of revision 2025-11-25.
func TestTasks(t *testing.T) {
	server := newSDKServer()
	goOn := make(chan struct{})
	addTool(server, "slow", func(context.Context, *sdk.CallToolRequest, anyInput) string {
		<-goOn
		return "done"
	})
	url, _, _ := newBelt(t, nil, server)
	c := newWebClient(t, url+"/mcp", mcp.Revision20251125)
	var created struct {
		Task struct {
			ID     string `json:"taskId"`
			Status string
		}
	}
	assert.OK(t, json.Unmarshal(c.send(t, "tools/call", `{"name":"belt__slow","arguments":{},"task":{"ttl":60000}}`), &created))
	assert.Equal(t, created.Task.Status, "working", "the status")
	about := fmt.Sprintf(`{"taskId":%q}`, created.Task.ID)
	close(goOn)
	if got := string(c.send(t, "tasks/result", about)); !strings.Contains(got, `"done"`) || !strings.Contains(got, created.Task.ID) {
		t.Errorf("got %s, want the result and the id of the task", got)
	}
	assert.Contains(t, string(c.send(t, "tasks/get", about)), `"completed"`)
	assert.Contains(t, string(c.send(t, "tasks/list", "{}")), created.Task.ID)
}

// Clients hear of changes of lists and resources, if they are of their view.
func TestChangesPass(t *testing.T) {
	server := newSDKServer()
	addTool(server, "first", nil)
	server.AddResource(&sdk.Resource{Name: "note", URI: "test://note"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "test://note", Text: "noted"}}}, nil
	})
	url, _, _ := newBelt(t, &gateway.Options{Profiles: map[string]gateway.Profile{"none": {Servers: []string{"other"}}}}, server)
	for i, revision := range both {
		ctx, cancel := context.WithCancel(hosttest.Watchdog(t))
		c := newUser(t, url+"/mcp", "", revision, nil)
		none := newUser(t, url+"/p/none/mcp", "", revision, nil)
		assert.OK(t, errors.Join(c.Ready(ctx), none.Ready(ctx)))
		updates := 0
		for uri, err := range c.ResourceUpdates(ctx, "belt://test://note") {
			assert.OK(t, err)
			if updates++; updates == 2 {
				assert.Equal(t, uri, "belt://test://note", "%s", revision)
				before, noneBefore := c.State().ToolsVersion, none.State().ToolsVersion
				server.AddTool(&sdk.Tool{Name: fmt.Sprintf("more%d", i), InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					return &sdk.CallToolResult{}, nil
				})
				hosttest.Eventually(t, "the client hears of the tool", func() bool { return c.State().ToolsVersion > before })
				if got := none.State().ToolsVersion; got != noneBefore {
					t.Errorf("%s: got a change of the tools of a view without any, want none", revision)
				}
				break
			}
			// Until the server knows of the subscription nothing is sent.
			_ = server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "test://note"})
		}
		cancel()
	}
}

// All views and sessions use one process of a server.
func TestOneProcess(t *testing.T) {
	profiles := map[string]gateway.Profile{}
	for i := range 18 {
		profiles[fmt.Sprint("p", i)] = gateway.Profile{}
	}
	url, _ := newGateway(t, &gateway.Options{Profiles: profiles}, "echo", hosttest.Child(t, "echo"))
	paths := []string{"/mcp", "/s/echo/mcp"}
	for name := range profiles {
		paths = append(paths, "/p/"+name+"/mcp")
	}
	pids := map[string]bool{}
	for _, path := range paths {
		for range 50 {
			c := newWebClient(t, url+path, mcp.Revision20251125)
			if path == "/mcp" || path == "/s/echo/mcp" {
				continue
			}
			pids[string(c.send(t, "tools/call", `{"name":"echo__echo","arguments":{"text":"x"}}`))] = true
			c.http.CloseIdleConnections()
		}
	}
	assert.Equal(t, len(pids), 1, "answers of processes")
}

// A process that is killed under many callers is there again, each call is told what became of
// it, and none is made twice.
func TestKilledServer(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	url, _ := newGateway(t, nil, "journal", hosttest.Child(t, "journal:"+journal))
	ctx := hosttest.Watchdog(t)
	c := newUser(t, url+"/s/journal/mcp", "", mcp.Revision20251125, nil)
	outcomes := map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	stop := make(chan struct{})
	for i := range 64 {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("%d.%d", i, n)
				res, err := c.CallTool(ctx, "note", json.RawMessage(fmt.Sprintf(`{"text":%q}`, id)), nil)
				if err != nil {
					t.Errorf("call %s: %v", id, err)
					return
				}
				outcome, _ := res.Meta[gateway.MetaOutcome].(string)
				if !res.IsError {
					outcome = "answered"
				}
				mu.Lock()
				outcomes[id] = outcome
				mu.Unlock()
			}
		})
	}
	ready := func() bool {
		resp := assert.Value(http.Get(url + "/readyz"))(t)
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	for range 3 {
		pid := 0
		hosttest.Eventually(t, "a call is answered", func() bool {
			res, err := c.CallTool(ctx, "pid", nil, nil)
			return err == nil && !res.IsError && json.Unmarshal([]byte(res.Text()), &pid) == nil
		})
		killed := time.Now()
		hosttest.Kill(t, pid)
		noticed := false
		hosttest.Eventually(t, "the process is another one", func() bool {
			if !noticed && !ready() {
				noticed = true
				t.Logf("not ready after %v", time.Since(killed))
			}
			res, err := c.CallTool(ctx, "pid", nil, nil)
			return err == nil && !res.IsError && res.Text() != fmt.Sprint(pid)
		})
		t.Logf("serving after %v", time.Since(killed))
	}
	counts := map[string]int{}
	close(stop)
	all.Wait()
	for _, outcome := range outcomes {
		counts[outcome]++
	}
	t.Logf("outcomes: %v", counts)
	data := assert.Value(os.ReadFile(journal))(t)
	made := map[string]int{}
	for id := range strings.FieldsSeq(string(data)) {
		made[id]++
	}
	for id, outcome := range outcomes {
		n := made[id]
		if n > 1 || outcome == "answered" && n != 1 || outcome == "not_sent" && n != 0 || outcome == "" {
			t.Errorf("call %s: got the outcome %q, and it was made %d times", id, outcome, n)
		}
	}
}

// A call in the course of which its server dies may have been made, and is not made again.
func TestOutcomeOfDeath(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	url, _ := newGateway(t, nil, "journal", hosttest.Child(t, "journal:"+journal))
	for _, revision := range both {
		c := newUser(t, url+"/s/journal/mcp", "", revision, nil)
		res := assert.Value(c.CallTool(hosttest.Watchdog(t), "die", json.RawMessage(fmt.Sprintf(`{"text":%q}`, revision)), nil))(t)
		if got := res.Meta[gateway.MetaOutcome]; !res.IsError || got != "unknown" {
			t.Errorf("%s: got the outcome %v, want unknown", revision, got)
		}
		made := assert.Value(os.ReadFile(journal))(t)
		assert.Equal(t, strings.Count(string(made), revision), 1, "%s: calls", revision)
	}
}

// serveJournal is a server that writes down each call before it answers.
func serveJournal(path string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	server := newSDKServer()
	addTool(server, "note", func(_ context.Context, _ *sdk.CallToolRequest, in anyInput) string {
		_, _ = f.WriteString(in.Text + "\n")
		return in.Text
	})
	addTool(server, "die", func(_ context.Context, _ *sdk.CallToolRequest, in anyInput) string {
		_, _ = f.WriteString(in.Text + "\n")
		os.Exit(1)
		return ""
	})
	addTool(server, "pid", func(context.Context, *sdk.CallToolRequest, anyInput) string { return fmt.Sprint(os.Getpid()) })
	_ = server.Run(context.Background(), &sdk.StdioTransport{})
}

// The two paths of HandsAI answer in its form.
func TestHandsAI(t *testing.T) {
	server := newSDKServer()
	addTool(server, "echo", func(_ context.Context, _ *sdk.CallToolRequest, in anyInput) string { return in.Text })
	url, _, _ := newBelt(t, nil, server)
	resp := assert.Value(http.Get(url + "/mcp/tools/list"))(t)
	defer resp.Body.Close()
	list := assert.Value(io.ReadAll(resp.Body))(t)
	if got := string(list); !strings.HasPrefix(got, `{"jsonrpc":"2.0","result":{"tools":[{`) || !strings.Contains(got, `"name":"belt__echo"`) {
		t.Errorf("got %s, want a list with belt__echo, and no id", got)
	}
	for _, c := range []struct{ message, want, has string }{
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"belt__echo","arguments":{"text":"hi"}},"id":"exec-456"}`, `{"jsonrpc":"2.0","id":"exec-456","result":{`, `"content":[{"type":"text","text":"hi"}]`},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"belt__echo","arguments":{"text":"hi"}}}`, `{"jsonrpc":"2.0","result":{`, `"content":[{"type":"text","text":"hi"}]`},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"missing"},"id":"1"}`, `{"jsonrpc":"2.0","id":"1","error":{"code":-32602`, ""},
		{`{"jsonrpc":"2.0","method":"tools/call","id":"1"}`, `{"jsonrpc":"2.0","id":"1","error":{"code":-32602`, ""},
		{`{"jsonrpc":"2.0","method":"tools/run","params":{},"id":"1"}`, `{"jsonrpc":"2.0","id":"1","error":{"code":-32601`, ""},
		{`{"jsonrpc":"2.0",`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`, ""},
	} {
		body := ""
		post(t, url+"/mcp/tools/call", "", c.message, &body)
		if !strings.HasPrefix(body, c.want) || !strings.Contains(body, c.has) {
			t.Errorf("%s: got %s, want %s... with %s", c.message, body, c.want, c.has)
		}
	}
}

// A gateway that shuts down answers the calls under way and takes no more.
func TestShutdownDrains(t *testing.T) {
	server := newSDKServer()
	began, goOn := make(chan struct{}), make(chan struct{})
	addTool(server, "slow", func(context.Context, *sdk.CallToolRequest, anyInput) string {
		close(began)
		<-goOn
		return "done"
	})
	url, g, _ := newBelt(t, nil, server)
	c := newUser(t, url+"/mcp", "", mcp.Revision20251125, nil)
	var all sync.WaitGroup
	all.Go(func() {
		res, err := c.CallTool(hosttest.Watchdog(t), "belt__slow", nil, nil)
		if err != nil || res.Text() != "done" {
			t.Errorf("got %v, %v, want done", res, err)
		}
	})
	<-began
	all.Go(func() {
		if err := g.Shutdown(hosttest.Watchdog(t)); err != nil {
			t.Error(err)
		}
	})
	hosttest.Eventually(t, "the gateway is not ready", func() bool {
		resp := assert.Value(http.Get(url + "/readyz"))(t)
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	})
	close(goOn)
	all.Wait()
}

// An answer is an event from revision 2025-11-25 on, and has a length if nothing was said before.
func TestFormOfAnswers(t *testing.T) {
	s := openSite(t, nil, "one")
	const params = `"name":"one__big","arguments":{"n":100000}`
	for _, test := range []struct{ revision, want string }{
		{"2025-03-26", "application/json"},
		{mcp.Revision20251125, "text/event-stream"},
		{mcp.Revision20260728, "text/event-stream"},
	} {
		in := modern("a", "/mcp", "tools/call", "one__big", params)
		if test.revision != mcp.Revision20260728 {
			in = shot{path: "/mcp", user: "a", session: s.begin(t, "/mcp", "a", test.revision), body: callOf(7, "tools/call", "{"+params+"}")}
		}
		r := s.do(t, in)
		assert.Equal(t, r.header.Get("Content-Type"), test.want, "%s: the type", test.revision)
		assert.Equal(t, r.header.Get("Content-Length"), strconv.Itoa(len(r.body)), "%s: the length", test.revision)
		var content []struct{ Text string }
		if err := json.Unmarshal([]byte(r.message(t).at("content")), &content); err != nil || len(content) != 1 {
			t.Fatalf("%s: got the content %.100s, want one block", test.revision, r.body)
		}
		assert.Equal(t, len(content[0].Text), 100_000, "%s: got a text of bytes", test.revision)
	}
}
