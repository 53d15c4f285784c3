package cassette_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/cassette"
	"github.com/mcpbelt/mcpbelt/transport"
)

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
	assert.ContainsAll(t, got, "say 1", "arguments.n: recorded 1, got 2")
	assert.Lacks(t, got, "rstuvwxyz")
	assert.Lacks(t, got[strings.Index(got, "not sent"):], "thirdthird")
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
		assert.Equal(t, strings.Count(got, want), n)
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
		e := assert.As[*cassette.UnrecordedError](t, err)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent)
		return e
	}
	e := try(`{"city":"Rome","days":[1,9,3]}`)
	const want = ": tools/call {\"name\":\"say\",\"arguments\":{\"city\":\"Rome\",\"days\":[1,9,3]}} was not recorded; nearest differs in\n" +
		"\targuments.days[1]: recorded 2, got 9"
	assert.True(t, strings.HasSuffix(e.Error(), want), "%s ends with %s", e, want)
	assert.Contains(t, e.Error(), file)
	e = try(`{"city":"` + strings.Repeat("x", 1<<13) + `"}`)
	assert.True(t, len(e.Error()) < 4<<10 && strings.Count(e.Error(), "\n\t") == 3, "%d bytes, want three differences: %s", len(e.Error()), e.Error())
	assert.Value(c.CallTool(t.Context(), "say", json.RawMessage(`{"city":"Paris","days":[1,2]}`), nil))(t)
	e = try(`{"days":[1,2],"city":"Paris"}`)
	assert.Contains(t, e.Error(), "recorded 1 times")
	assert.Fails(t, c.Ping(t.Context()), "a ping that was not recorded is answered")
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
		assert.As[*cassette.UnrecordedError](t, err, "%s", revision)
		assert.Contains(t, err.Error(), `content.name: recorded "Ann", got "Bob"`, "%s", revision)
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
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
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
			assert.Equal(t, fmt.Sprint(got), strings.ReplaceAll(want.Error(), ":4711", ""))
			assert.True(t, c.same(want) && c.same(got), "recorded %v, replayed %v", want, got)
		})
	}
}

// A recording that was written by hand: a connection that ended with a call ends
// before the caller hears of it, who so tries another, and what the server sends
// after an answer comes after it.
func TestReplayByHand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	const recording = `{"version": 1, "connections": [{"turns": [
		{"request": "server/discover", "error": {"code": -32601, "message": "no"}},
		{"request": "initialize", "params": {"protocolVersion": "2025-11-25"}, "result": {
			"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}}, "serverInfo": {"name": "hand", "version": "1"}}},
		{"request": "tools/call", "params": {"name": "a", "arguments": {}},
			"failure": {"outcome": "not sent", "message": "cut"}, "after": [{"end": "gone"}]},
		{"request": "tools/call", "params": {"name": "a", "arguments": {}}, "result": {"content": []},
			"after": [{"notification": "notifications/tools/list_changed"}]}
	]}]}`
	assert.OK(t, os.WriteFile(file, []byte(recording), 0o600))
	d := newDiary(t, newReplay(t, file, nil))
	d.ready()
	before := d.c.State()
	d.call("a", `{}`)
	assert.Contains(t, d.String(), "a {}: []")
	for s := range d.c.Watch(d.context()) {
		if s.ToolsVersion >= before.ToolsVersion+2 { // one for the connection, one for the announcement
			assert.Equal(t, s.Connections, 2, "connections")
			return
		}
	}
	t.Errorf("no announcement after the answer: %+v", d.c.State())
}

func TestReplayRefuses(t *testing.T) {
	for data, want := range map[string]string{
		``:                              ":1: ",
		"{\"version\":1,\n":             ":2: ",
		`[]`:                            "the version is not 1",
		`{"connections":[]}`:            "the version is not 1",
		"{\n  \"version\": 2, \"x\":1}": "the version is not 1",
		`{"version":1,"tapes":[]}`:      `unknown field "tapes"`,
		"{\"version\":1,\n\"connections\":[{\"turns\":[{\"request\":7}]}]}":                              ":2: connections.turns.request must not be a JSON number",
		`{"version":1,"connections":[{"turns":[{"params":{}}]}]}`:                                        "connections[0]: turns[0]: must be a request or a notification",
		`{"version":1,"connections":[{"turns":{}}]}`:                                                     "turns must not be a JSON object",
		`{"version":1,"connections":[null]}`:                                                             "is null",
		`{"version":1,"connections":[{"turns":[{"request":"x","result":1,"error":{}}]}]}`:                "in more than one way",
		`{"version":1,"connections":[{"turns":[{"notification":"x","result":1}]}]}`:                      "which has no answer",
		`{"version":1,"connections":[{"turns":[{"request":"x","error":7}]}]}`:                            "must be a JSON-RPC error",
		`{"version":1,"connections":[{"refused":{"outcome":"maybe"}}]}`:                                  "outcome",
		`{"version":1,"connections":[{"refused":{"outcome":"unknown","kind":"x"}}]}`:                     "kind",
		`{"version":1,"connections":[{"refused":{"outcome":"unknown","limit":"x"}}]}`:                    "limit must not be",
		`{"version":1,"connections":[{"turns":[{"request":"x","during":[{"progress":{},"end":"y"}]}]}]}`: "is one of",
		`{"version":1,"connections":[{"turns":[{"request":"x","during":[{"reply":{}}]}]}]}`:              "unknown field",
		`{"version":1,"connections":[{"turns":[{"request":"x","params":{"a":1,"a":2}}]}]}`:               ":1: ",
	} {
		file := filepath.Join(t.TempDir(), "bad.json")
		assert.OK(t, os.WriteFile(file, []byte(data), 0o600))
		_, err := cassette.Replay(file, nil)
		assert.Fails(t, err, "%s", data)
		assert.Contains(t, err.Error(), want, "%s", data)
		assert.Contains(t, err.Error(), file, "%s", data)
	}
	assert.Is(t, assert.Err(cassette.Replay(filepath.Join(t.TempDir(), "none.json"), nil)), os.ErrNotExist)
}
