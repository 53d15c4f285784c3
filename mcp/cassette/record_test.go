package cassette_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/cassette"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

const patience = 30 * time.Second

// A diary is what an agent sees of its server.
type diary struct {
	strings.Builder
	t *testing.T
	c *mcp.Client
}

func newDiary(t *testing.T, tr mcp.Transport) *diary {
	d := &diary{t: t}
	d.c = mcp.NewClient("diary", tr, &mcp.ClientOptions{
		Elicit: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Fprintf(d, "asked %s\n", r.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
		},
	})
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
	res, err := d.c.CallTool(d.context(), tool, json.RawMessage(args), &mcp.CallToolOptions{
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
func record(t *testing.T, file string, tr mcp.Transport, story func(*diary)) (told string) {
	t.Run("record", func(t *testing.T) {
		r := cassette.Record(tr, nil)
		d := newDiary(t, r)
		story(d)
		told = d.String()
		save(t, r, d, file)
	})
	return told
}

// save ends the client of a diary and writes what was recorded of it.
func save(t *testing.T, r *cassette.Recorder, d *diary, file string) {
	t.Helper()
	_ = d.c.Close()
	if err := r.Save(file); err != nil {
		t.Fatal(err)
	}
}

func newReplay(t *testing.T, file string, opts *cassette.Options) mcp.Transport {
	t.Helper()
	tr, err := cassette.Replay(file, opts)
	if err != nil {
		t.Fatal(err)
	}
	return tr
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
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "made", "a.json")
			recorded := record(t, file, c.to(t), c.story)
			for _, want := range c.want {
				if !strings.Contains(recorded, want) {
					t.Errorf("the story lacks %q:\n%s", want, recorded)
				}
			}
			for range 2 {
				if replayed := replay(t, file, c.story); replayed != recorded {
					t.Errorf("recorded:\n%s\nreplayed:\n%s", recorded, replayed)
				}
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
		file := filepath.Join(t.TempDir(), "a.json")
		recorded := record(t, file, server(t, revision), story)
		if replayed := replay(t, file, story); replayed != recorded || strings.Count(recorded, "tool ") != 3 {
			t.Errorf("recorded:\n%s\nreplayed:\n%s", recorded, replayed)
		}
	}
}

// A recording is the same whenever it is made, and reads as reviewed.
func TestRecordingIsStable(t *testing.T) {
	folder := t.TempDir()
	var files []string
	for i := range 2 {
		file := filepath.Join(folder, fmt.Sprint(i))
		record(t, file, server(t, mcp.Revision20251125), scripted)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(data))
	}
	if files[0] != files[1] {
		t.Errorf("first:\n%s\nsecond:\n%s", files[0], files[1])
	}
	if strings.Contains(files[0], "hunter2") || !strings.Contains(files[0], `"token": "[redacted]"`) || strings.Contains(files[0], "progressToken") {
		t.Errorf("the file is\n%s", files[0])
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

// A call with another secret is the recorded call, since both are redacted.
func TestReplayMatchesOtherSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	record(t, file, server(t, mcp.Revision20251125), func(d *diary) {
		d.call("say", `{"api_key":"first","text":"Bearer abcdefgh","n":1}`)
	})
	got := replay(t, file, func(d *diary) {
		d.call("say", `{"n":1,"api_key":"second","text":"Bearer ijklmnopq"}`)
		d.call("say", `{"n":2,"api_key":"thirdthird","text":"Bearer rstuvwxyz"}`)
	})
	for _, want := range []string{"say 1", "arguments.n: recorded 1, got 2"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "rstuvwxyz") || strings.Contains(got[strings.Index(got, "not sent"):], "thirdthird") {
		t.Errorf("the error tells a secret:\n%s", got)
	}
}

// A secret that only the recording knew of is any text when it is played back.
func TestReplayMatchesUnknownSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	r := cassette.Record(server(t, mcp.Revision20251125), &cassette.Options{Redact: func(_, value string) string {
		return strings.NewReplacer("horse", "[redacted]", "mule", "[redacted]").Replace(value)
	}})
	recorded := newDiary(t, r)
	recorded.call("say", `{"text":"the horse, of course","n":1}`)
	recorded.call("say", `{"text":"the mule, of course","n":1}`)
	recorded.call("ask", `{"text":"horse"}`)
	save(t, r, recorded, file)
	d := newDiary(t, newReplay(t, file, nil))
	for _, args := range []string{
		`{"n":1,"text":"the horse, of course"}`, `{"n":1,"text":"the \"mule\" \\, of course"}`, // they are played in their order
		`{"n":1,"text":"the horse","m":", of course"}`, `{"n":2,"text":"the horse, of course"}`, `{"n":1,"text":"a horse, of course"}`, // not they
		`{"n":1,"text":"the third, of course"}`, // no more
	} {
		d.call("say", args)
	}
	d.call("ask", `{"text":"horse"}`)
	got := d.String()
	for want, n := range map[string]int{"say 1": 1, "say 2": 1, "was not recorded": 3, "was recorded 2 times": 1, "asked Who?": 1} {
		if strings.Count(got, want) != n {
			t.Errorf("got %d times %q, want %d:\n%s", strings.Count(got, want), want, n, got)
		}
	}
}

func TestUnrecorded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	record(t, file, server(t, mcp.Revision20251125), func(d *diary) {
		d.call("say", `{"city":"Paris","days":[1,2]}`)
		d.call("say", `{"city":"Rome","days":[1,2,3]}`)
	})
	c := mcp.NewClient("x", newReplay(t, file, nil), nil)
	defer func() { _ = c.Close() }()
	try := func(args string) *cassette.UnrecordedError {
		t.Helper()
		_, err := c.CallTool(t.Context(), "say", json.RawMessage(args), nil)
		var e *cassette.UnrecordedError
		if !errors.As(err, &e) || mcp.OutcomeOf(err) != mcp.NotSent {
			t.Fatalf("got %v with outcome %v", err, mcp.OutcomeOf(err))
		}
		return e
	}
	e := try(`{"city":"Rome","days":[1,9,3]}`)
	const want = ": tools/call {\"name\":\"say\",\"arguments\":{\"city\":\"Rome\",\"days\":[1,9,3]}} was not recorded; nearest differs in\n" +
		"\targuments.days[1]: recorded 2, got 9"
	if got := e.Error(); !strings.HasSuffix(got, want) || !strings.Contains(got, file) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	e = try(`{"city":"` + strings.Repeat("x", 1<<16) + `"}`)
	if n := len(e.Error()); n > 4<<10 || len(e.Differences) != 3 {
		t.Errorf("%d bytes, %d differences", n, len(e.Differences))
	}
	if _, err := c.CallTool(t.Context(), "say", json.RawMessage(`{"city":"Paris","days":[1,2]}`), nil); err != nil {
		t.Error(err)
	}
	if e := try(`{"days":[1,2],"city":"Paris"}`); e.Recorded != 1 || !strings.Contains(e.Error(), "recorded 1 times") {
		t.Errorf("%d: %v", e.Recorded, e)
	}
	if err := c.Ping(t.Context()); err == nil {
		t.Error("a ping that was not recorded is answered")
	}
}

// An answer of the user's that differs leads elsewhere than the recorded one.
func TestReplayComparesAnswers(t *testing.T) {
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		file := filepath.Join(t.TempDir(), "a.json")
		record(t, file, server(t, revision), func(d *diary) { d.call("ask", `{}`) })
		c := mcp.NewClient("x", newReplay(t, file, nil), &mcp.ClientOptions{
			Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Bob"}}, nil
			},
		})
		_, err := c.CallTool(t.Context(), "ask", nil, nil)
		var e *cassette.UnrecordedError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), `content.name: recorded "Ann", got "Bob"`) {
			t.Errorf("%s: %v", revision, err)
		}
		_ = c.Close()
	}
}

// A cutCaller is a data plane whose calls of tools fail with err.
type cutCaller struct {
	mcp.Caller
	err error
}

func (c *cutCaller) Call(ctx context.Context, method string, params json.RawMessage, opts *mcp.CallOptions) (json.RawMessage, error) {
	if method == "tools/call" {
		return nil, c.err
	}
	return c.Caller.Call(ctx, method, params, opts)
}

// A cutTransport makes such connections.
type cutTransport struct {
	mcp.Transport
	err error
}

func (c *cutTransport) Connect(ctx context.Context) (mcp.Conn, error) {
	conn, err := c.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &cutCaller{conn.(mcp.Caller), c.err}, nil
}

// An error reads as it was recorded, and callers learn the same from it.
func TestReplayedErrors(t *testing.T) {
	is := func(target error) func(error) bool {
		return func(err error) bool { return errors.Is(err, target) }
	}
	for name, c := range map[string]struct {
		err  error
		same func(error) bool
	}{
		"not sent": {mcp.WithOutcome(errors.New("cut at 127.0.0.1:4711"), mcp.NotSent), mcp.SafeToRetry},
		"answered": {mcp.WithOutcome(errors.New("cut"), mcp.Answered), func(err error) bool { return mcp.OutcomeOf(err) == mcp.Answered }},
		"unknown":  {errors.New("cut"), func(err error) bool { return mcp.OutcomeOf(err) == mcp.Unknown }},
		"session":  {mcp.WithOutcome(fmt.Errorf("x: %w", mcp.ErrSessionLost), mcp.NotSent), is(mcp.ErrSessionLost)},
		"limit": {&mcp.LimitError{Limit: "message bytes", Max: 7}, func(err error) bool {
			var limit *mcp.LimitError
			return errors.As(err, &limit) && limit.Max == 7 && mcp.OutcomeOf(err) == mcp.Answered
		}},
		"protocol": {&mcp.ProtocolError{Path: "result", Err: errors.New("odd")}, func(err error) bool {
			var invalid *mcp.ProtocolError
			return errors.As(err, &invalid) && invalid.Path == "result"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.json")
			var want error
			real := &cutTransport{&transport.Pipe{Serve: server(t, mcp.Revision20251125).Serve}, c.err}
			t.Run("record", func(t *testing.T) {
				r := cassette.Record(real, nil)
				d := newDiary(t, r)
				_, want = d.c.CallTool(d.context(), "x", nil, nil)
				save(t, r, d, file)
			})
			_, got := newDiary(t, newReplay(t, file, nil)).c.CallTool(t.Context(), "x", nil, nil)
			if got == nil || !c.same(want) || !c.same(got) || got.Error() != strings.ReplaceAll(want.Error(), ":4711", "") {
				t.Errorf("recorded %v, replayed %v", want, got)
			}
		})
	}
}

// A recording that was written by hand: a connection that ended with a call ends
// before the caller hears of it, who so tries another, and what the server sends
// after an answer comes after it.
func TestReplayByHand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	const recording = `{"version": 1, "connections": [{"turns": [
		{"request": "server/discover", "error": {"code": -32601, "message": "no"}}, // comments may stand here
		{"request": "initialize", "params": {"protocolVersion": "2025-11-25"}, "result": {
			"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}}, "serverInfo": {"name": "hand", "version": "1"}}},
		{"request": "tools/call", "params": {"name": "a", "arguments": {}},
			"failure": {"outcome": "not sent", "message": "cut"}, "after": [{"end": "gone"}]},
		{"request": "tools/call", "params": {"name": "a", "arguments": {}}, "result": {"content": []},
			"after": [{"notification": "notifications/tools/list_changed"}]},
	]}]}`
	if err := os.WriteFile(file, []byte(recording), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDiary(t, newReplay(t, file, nil))
	d.ready()
	before := d.c.State()
	d.call("a", `{}`)
	if got := d.String(); !strings.Contains(got, "a {}: []") {
		t.Error(got)
	}
	for s := range d.c.Watch(d.context()) {
		if s.ToolsVersion >= before.ToolsVersion+2 { // one for the connection, one for the announcement
			if s.Connections != 2 {
				t.Errorf("%d connections", s.Connections)
			}
			return
		}
	}
	t.Errorf("no announcement after the answer: %+v", d.c.State())
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
	data, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(data), "Smith") || !strings.Contains(string(data), "somebody") {
		t.Errorf("%v:\n%s", err, data)
	}
	d := newDiary(t, newReplay(t, file, opts))
	d.call("say", `{"customer":"Bob Jones"}`)
	if !strings.Contains(d.String(), "say 1") {
		t.Error(d.String())
	}
}

// A recording that cannot be written leaves the file of before as it was.
func TestSaveKeepsTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	odd := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
		"tools/call": mcptest.Result(`{"content":[],"a":1,"a":2}`),
	})
	r := cassette.Record(odd, nil)
	d := newDiary(t, r)
	d.call("x", `{}`)
	_ = d.c.Close()
	if err := r.Save(file); err == nil || !strings.HasPrefix(err.Error(), "cassette: save "+file+": tools/call: ") {
		t.Errorf("got %v, want an error of the answer", err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "before" {
		t.Errorf("got %q, %v, want the file of before", data, err)
	}
}

// What was recorded so far can be saved again and again.
func TestSaveTwice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	r := cassette.Record(server(t, mcp.Revision20251125), nil)
	d := newDiary(t, r)
	for range 2 {
		d.call("again", `{}`)
		if err := r.Save(file); err != nil {
			t.Fatal(err)
		}
	}
	again := func(d *diary) { d.call("again", `{}`); d.call("again", `{}`) }
	if got := replay(t, file, again); got != d.String() {
		t.Errorf("got %s, want %s", got, d.String())
	}
}

func TestReplayRefuses(t *testing.T) {
	for data, want := range map[string]string{
		``:                              ":1:1: the file is empty",
		`{"version":1,`:                 ":1:",
		`[]`:                            ":1:1: must be an object, not an array",
		`{"connections":[]}`:            ":1:1: has no version",
		"{\n  \"version\": 2, \"x\":1}": ":2:14: version: is not 1",
		`{"version":1,"tapes":[]}`:      ":1:22: tapes: unknown key",
		`{"version":1,"connections":[{"turns":[{"request":7}]}]}`:                                        "connections[0].turns[0].request: must be a string, not a number",
		`{"version":1,"connections":[{"turns":[{"params":{}}]}]}`:                                        "turns[0]: needs one of the keys",
		`{"version":1,"connections":[{"turns":{}}]}`:                                                     "turns: must be an array",
		`{"version":1,"connections":[{"turns":[{"request":"x","result":1,"error":{}}]}]}`:                `stands beside "result"`,
		`{"version":1,"connections":[{"turns":[{"notification":"x","result":1}]}]}`:                      "which has no result",
		`{"version":1,"connections":[{"turns":[{"request":"x","error":7}]}]}`:                            "must be a JSON-RPC error",
		`{"version":1,"connections":[{"refused":{"outcome":"maybe"}}]}`:                                  "outcome must be one of",
		`{"version":1,"connections":[{"refused":{"outcome":"unknown","kind":"x"}}]}`:                     "kind must be one of",
		`{"version":1,"connections":[{"refused":{"outcome":"unknown","limit":"x"}}]}`:                    "must be an integer",
		`{"version":1,"connections":[{"turns":[{"request":"x","during":[{"progress":{},"end":"y"}]}]}]}`: `stands beside "progress"`,
		`{"version":1,"connections":[{"turns":[{"request":"x","during":[{"reply":{}}]}]}]}`:              "unknown key",
		`{"version":1,"connections":[{"turns":[{"request":"x","params":{"a":1,"a":2}}]}]}`:               ":1:",
	} {
		file := filepath.Join(t.TempDir(), "bad.json")
		if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := cassette.Replay(file, nil)
		var bad *cassette.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) || bad.Line == 0 {
			t.Errorf("%s: got %v, want %s", data, err, want)
		}
	}
	_, err := cassette.Replay(filepath.Join(t.TempDir(), "none.json"), nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
