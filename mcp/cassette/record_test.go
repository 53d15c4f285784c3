package cassette_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/cassette"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

const patience = time.Minute

// A diary is what an agent sees of its server.
type diary struct {
	strings.Builder
	t *testing.T
	c *mcp.Client
}

func newDiary(t *testing.T, tr mcp.Transport) *diary {
	d := &diary{t: t}
	d.c = mcp.NewClient("diary", tr, &mcp.ClientOptions{Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		fmt.Fprintf(d, "asked %s\n", r.Params.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
	}})
	t.Cleanup(func() { _ = d.c.Close() })
	return d
}

func (d *diary) context() context.Context {
	ctx, stop := context.WithTimeout(d.t.Context(), patience)
	d.t.Cleanup(stop)
	return ctx
}

func (d *diary) err(err error) bool {
	if err != nil {
		fmt.Fprintf(d, "%v: %T %v\n", mcp.OutcomeOf(err), err, err)
	}
	return err != nil
}

func (d *diary) ready() {
	if !d.err(d.c.Ready(d.context())) {
		fmt.Fprintf(d, "ready %s\n", d.c.State().ProtocolVersion)
	}
}

func (d *diary) tools() {
	tools, err := d.c.Tools(d.context())
	if d.err(err) {
		return
	}
	for _, tool := range tools {
		fmt.Fprintf(d, "tool %s %s\n", tool.Name, tool.InputSchema)
	}
}

func (d *diary) call(tool, args string) {
	res, err := d.c.CallTool(d.context(), tool, json.RawMessage(args), &mcp.RequestOptions{
		Progress: func(p *mcp.ProgressParams) { fmt.Fprintf(d, "progress %v\n", p.Progress) },
	})
	if d.err(err) {
		return
	}
	content, _ := json.Marshal(res.Content)
	fmt.Fprintf(d, "%s %s: %s %s\n", tool, args, content, res.StructuredContent)
}

const (
	exactResult  = `{"content":[],"structuredContent":{"z":9007199254740993,"a":1.50,"big":123456789012345678901234567890}}`
	askParams    = `{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`
	twoTools     = `{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"token":{"type":"string"}}}},{"name":"b","inputSchema":{"type":"object"}}]}`
	askedInMRTR  = `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":` + askParams + `}},"requestState":"s"}`
	simpleResult = `{"content":[{"type":"text","text":"fine"}]}`
)

// server is a script for all that the diaries of the tests do.
func server(t *testing.T, revision string) *mcptest.Server {
	ask := func(c *mcptest.Call) {
		answer, err := c.Ask("elicitation/create", askParams)
		c.Result(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, fmt.Sprint(string(answer), err)))
	}
	if revision >= mcp.Revision20260728 {
		ask = func(c *mcptest.Call) {
			if strings.Contains(string(c.Params), "inputResponses") {
				c.Result(simpleResult)
				return
			}
			c.Result(askedInMRTR)
		}
	}
	handlers := map[string]mcptest.Handler{
		"exact":  mcptest.Result(exactResult),
		"refuse": mcptest.Error(-32011, "not today"),
		"die":    mcptest.Disconnect,
		"ask":    ask,
		"count": func(c *mcptest.Call) {
			c.Progress(1)
			c.Progress(2)
			c.Result(simpleResult)
		},
		"change": func(c *mcptest.Call) {
			c.Notify("notifications/tools/list_changed", "")
			c.Result(simpleResult)
		},
	}
	twice := map[string]int{}
	return mcptest.NewServer(t, mcptest.Handshake(revision, ""), mcptest.Script{
		"tools/list": mcptest.Sequence(mcptest.Result(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`), mcptest.Result(twoTools)),
		"tools/call": func(c *mcptest.Call) {
			var params struct{ Name string }
			_ = json.Unmarshal(c.Params, &params)
			if h := handlers[params.Name]; h != nil {
				h(c)
				return
			}
			twice[params.Name]++
			c.Result(fmt.Sprintf(`{"content":[{"type":"text","text":"%s %d"}]}`, params.Name, twice[params.Name]))
		},
	})
}

func scripted(d *diary) {
	d.ready()
	d.tools()
	d.call("exact", `{}`)
	d.call("again", `{"a":1,"b":[2]}`)
	d.call("again", `{"b": [2], "a": 1}`)
	d.call("refuse", `{}`)
	d.call("count", `{}`)
	d.call("ask", `{"token":"hunter2hunter2"}`)
	d.call("die", `{}`)
	d.ready()
	d.call("again", `{}`)
}

// record runs the story against a server, and replay runs it against the
// recording.
func record(t *testing.T, file string, tr mcp.Transport, story func(*diary)) string {
	r := cassette.Record(tr, nil)
	d := newDiary(t, r)
	story(d)
	save(t, r, d, file)
	return d.String()
}

// save ends the client of a diary and writes what was recorded of it.
func save(t *testing.T, r *cassette.Recorder, d *diary, file string) {
	t.Helper()
	_ = d.c.Close()
	assert.OK(t, r.Save(file))
}

func newReplay(t *testing.T, file string, opts *cassette.Options) mcp.Transport {
	t.Helper()
	return assert.Value(cassette.Replay(file, opts))(t)
}

func replay(t *testing.T, file string, story func(*diary)) string {
	d := newDiary(t, newReplay(t, file, nil))
	story(d)
	return d.String()
}

// What an agent sees of a recording is what it saw of the server.
func TestReplayTellsTheSame(t *testing.T) {
	streamable := func(t *testing.T) mcp.Transport {
		real := transporttest.NewServer()
		s := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return real }, nil))
		t.Cleanup(func() {
			s.CloseClientConnections()
			s.Close()
		})
		return &transport.HTTP{URL: s.URL}
	}
	real := func(d *diary) {
		d.ready()
		d.tools()
		d.call("echo", `{"text":"hello"}`)
		d.call("count", `{"n":3}`)
		d.call("nothing", `{}`)
	}
	for name, c := range map[string]struct {
		to    func(t *testing.T) mcp.Transport
		story func(*diary)
		want  []string
	}{
		"messages, 2025-11-25": {func(t *testing.T) mcp.Transport { return server(t, mcp.Revision20251125) }, scripted,
			[]string{"ready 2025-11-25", "again 1", "again 2", "not today", "progress 2", "asked Who?", "Ann", "unknown: *mcp.OutcomeUnknownError", "123456789012345678901234567890"}},
		"messages, 2026-07-28": {func(t *testing.T) mcp.Transport { return server(t, mcp.Revision20260728) }, scripted,
			[]string{"ready 2026-07-28", "again 2", "not today", "progress 2", "asked Who?", "fine", "unknown: *mcp.OutcomeUnknownError", `{"z":9007199254740993,"a":1.50,`}},
		"data plane, 2025-11-25": {func(t *testing.T) mcp.Transport {
			return &transport.Pipe{Serve: server(t, mcp.Revision20251125).Serve}
		}, scripted, []string{"ready 2025-11-25", "again 2", "progress 2", "asked Who?", "unknown: *mcp.OutcomeUnknownError"}},
		"data plane, 2026-07-28": {func(t *testing.T) mcp.Transport {
			return &transport.Pipe{Serve: server(t, mcp.Revision20260728).Serve}
		}, scripted, []string{"ready 2026-07-28", "again 2", "progress 2", "asked Who?", "unknown: *mcp.OutcomeUnknownError"}},
		"process": {func(*testing.T) mcp.Transport { return transporttest.Child("sdk") }, real, []string{"hello", "progress 2", "tool echo"}},
		"HTTP":    {streamable, real, []string{"hello", "tool echo"}},
		"process that dies": {func(*testing.T) mcp.Transport {
			return transporttest.Child("read", `say:{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`,
				"read", `answer:{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"}}`,
				"read", "read", "exit:3")
		}, func(d *diary) { d.ready(); d.call("x", `{}`) }, []string{"unknown: *mcp.OutcomeUnknownError", "exit"}},
		"process that does not start": {func(*testing.T) mcp.Transport { return &transport.Command{Path: "./nothing"} },
			func(d *diary) { d.ready() }, []string{"not sent", "nothing"}},
	} {
		tell := func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "made", "a.json")
			recorded := record(t, file, c.to(t), c.story)
			assert.ContainsAll(t, recorded, c.want...)
			for range 2 {
				assert.Equal(t, replay(t, file, c.story), recorded, "replayed")
			}
		}
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, ", ") { // of a server in this process
				synctest.Test(t, tell)
			} else {
				tell(t)
			}
		})
	}
}

// The list that is read after an announcement is the second one that was
// recorded.
func TestReplayAnnouncesChanges(t *testing.T) {
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		story := func(d *diary) {
			d.ready()
			d.tools()
			before := d.c.State().ToolsVersion
			d.call("change", `{}`)
			for s := range d.c.Watch(d.context()) {
				if s.ToolsVersion != before {
					break
				}
			}
			d.tools()
		}
		synctest.Test(t, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.json")
			recorded := record(t, file, server(t, revision), story)
			assert.Equal(t, [...]any{replay(t, file, story), strings.Count(recorded, "tool ")}, [...]any{recorded, 3})
		})
	}
}

// A recording is the same whenever it is made, and reads as reviewed.
func TestRecordingIsStable(t *testing.T) {
	folder := t.TempDir()
	var files []string
	for i := range 2 {
		file := filepath.Join(folder, fmt.Sprint(i))
		record(t, file, server(t, mcp.Revision20251125), scripted)
		files = append(files, string(assert.Value(os.ReadFile(file))(t)))
	}
	assert.Equal(t, files[0], files[1], "files")
	assert.Lacks(t, files[0], "hunter2")
	assert.Contains(t, files[0], `"token": "[redacted]"`)
	assert.Lacks(t, files[0], "progressToken")
	assert.Equal(t, len(assert.Value(os.ReadDir(folder))(t)), 2, "left")
}

// The same rule of the user's applies to the file and to what is looked for in
// it.
func TestRedactRule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	opts := &cassette.Options{Redact: func(key, value string) string {
		if key == "customer" {
			return "somebody"
		}
		return value
	}}
	r := cassette.Record(server(t, mcp.Revision20251125), opts)
	recorded := newDiary(t, r)
	recorded.call("say", `{"customer":"Ann Smith"}`)
	save(t, r, recorded, file)
	data := assert.Value(os.ReadFile(file))(t)
	assert.Lacks(t, string(data), "Smith")
	assert.Contains(t, string(data), "somebody")
	d := newDiary(t, newReplay(t, file, opts))
	d.call("say", `{"customer":"Bob Jones"}`)
	assert.Contains(t, d.String(), "say 1")
}

// A recording that cannot be written leaves the file of before as it was.
func TestSaveKeepsTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	assert.OK(t, os.WriteFile(file, []byte("before"), 0o600))
	odd := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[{"name":"a","name":"b"}]}`),
	})
	r := cassette.Record(odd, nil)
	d := newDiary(t, r)
	d.tools()
	_ = d.c.Close()
	assert.True(t, strings.HasPrefix(fmt.Sprint(r.Save(file)), "cassette: save "+file+": tools/list: "), "the error is of the answer")
	assert.Equal(t, string(assert.Value(os.ReadFile(file))(t)), "before", "data")
}

// What was recorded so far can be saved again and again.
func TestSaveTwice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	r := cassette.Record(server(t, mcp.Revision20251125), nil)
	d := newDiary(t, r)
	for range 2 {
		d.call("again", `{}`)
		assert.OK(t, r.Save(file))
	}
	if runtime.GOOS != "windows" {
		assert.Equal(t, assert.Value(os.Stat(file))(t).Mode().Perm()&0o077, 0, "what others may do with it")
	}
	again := func(d *diary) { d.call("again", `{}`); d.call("again", `{}`) }
	assert.Equal(t, replay(t, file, again), d.String())
}
