// The kit of all tests: servers of both revisions, clients, and the clock of a bubble.

package mcp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

// revisions are the revisions that the tests speak, one of each kind.
func revisions() []string { return []string{mcp.Revision20251125, mcp.Revision20260728} }

// A plane is a way to carry requests to a scripted server.
type plane struct {
	name string
	to   func(*mcptest.Server) mcp.Transport
}

func planes() []plane {
	return []plane{
		{"messages", func(s *mcptest.Server) mcp.Transport { return s }},
		{"data plane", func(s *mcptest.Server) mcp.Transport { return &transport.Pipe{Serve: s.Serve} }},
	}
}

// everywhere runs a test with both revisions on both planes.
func everywhere(t *testing.T, test func(t *testing.T, revision string, p plane)) {
	withEach(t, revisions(), test)
}

// withEach runs a test with each of some revisions on both planes.
func withEach(t *testing.T, revisions []string, test func(t *testing.T, revision string, p plane)) {
	for _, revision := range revisions {
		everyPlane(t, func(t *testing.T, p plane) { t.Run(revision, func(t *testing.T) { test(t, revision, p) }) })
	}
}

// everyRevision runs a test with each of the two revisions, and everyPlane on each plane.
func everyRevision(t *testing.T, test func(t *testing.T, revision string)) {
	for _, revision := range revisions() {
		t.Run(revision, func(t *testing.T) { test(t, revision) })
	}
}

func everyPlane(t *testing.T, test func(t *testing.T, p plane)) {
	for _, p := range planes() {
		t.Run(p.name, func(t *testing.T) { test(t, p) })
	}
}

// Those whose names end in a bubble run it on a clock of its own.
func runInBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func everyPlaneInBubble(t *testing.T, test func(t *testing.T, p plane)) {
	everyPlane(t, func(t *testing.T, p plane) { synctest.Test(t, func(t *testing.T) { test(t, p) }) })
}

func everyRevisionInBubble(t *testing.T, test func(t *testing.T, revision string)) {
	everyRevision(t, func(t *testing.T, revision string) { synctest.Test(t, func(t *testing.T) { test(t, revision) }) })
}

func inBubbles(t *testing.T, test func(t *testing.T, revision string, p plane)) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		synctest.Test(t, func(t *testing.T) { test(t, revision, p) })
	})
}

// pass lets time pass on the bubble's clock, until nothing happens any more.
func pass(d time.Duration) {
	pause(d)
	synctest.Wait()
}

// pause sleeps on the bubble's clock, in what runs beside the test.
func pause(d time.Duration) {
	if !inBubble() {
		panic("a pause in real time")
	}
	time.Sleep(d) // sleep: on the bubble's clock
}

// inBubble reports whether time is that of a bubble, which begins in the year 2000.
func inBubble() bool { return time.Now().Year() < 2020 }

// slowly answers after a while on the bubble's clock.
func slowly(d time.Duration, answer mcptest.Handler) mcptest.Handler {
	return func(c *mcptest.Call) {
		pause(d)
		answer(c)
	}
}

// held answers when a channel is closed.
func held(until <-chan struct{}, answer mcptest.Handler) mcptest.Handler {
	return func(c *mcptest.Call) {
		<-until
		answer(c)
	}
}

// waits is a handler whose user never answers.
func waits(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// progressInto notes the progress of a call.
func progressInto(got *[]float64) *mcp.RequestOptions {
	return &mcp.RequestOptions{Progress: func(p *mcp.ProgressParams) { *got = append(*got, p.Progress) }}
}

// within is the test's context with an end.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// inBackground runs f beside the test.
func inBackground(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}

// newClient returns a client that is closed in the end. Outside of a bubble no limit of
// time ends anything by default.
func newClient(t testing.TB, to mcp.Transport, opts *mcp.ClientOptions) *mcp.Client {
	var o mcp.ClientOptions
	if opts != nil {
		o = *opts
	}
	if !inBubble() {
		for _, limit := range []*time.Duration{&o.ConnectTimeout, &o.IdleTimeout} {
			*limit = cmp.Or(*limit, 10*time.Minute)
		}
	}
	c := mcp.NewClient("scripted", to, &o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// withClient returns a server with a client of it.
func withClient(t testing.TB, server *mcptest.Server, opts *mcp.ClientOptions) (*mcptest.Server, *mcp.Client) {
	t.Helper()
	return server, newClient(t, server, opts)
}

func (p plane) withClient(t testing.TB, server *mcptest.Server, opts *mcp.ClientOptions) (*mcptest.Server, *mcp.Client) {
	t.Helper()
	return server, newClient(t, p.to(server), opts)
}

// Those whose names end in Ready return clients that are.
func newReady(t testing.TB, to mcp.Transport, opts *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	c := newClient(t, to, opts)
	ready(t, c)
	return c
}

func withReady(t testing.TB, server *mcptest.Server, opts *mcp.ClientOptions) (*mcptest.Server, *mcp.Client) {
	t.Helper()
	return server, newReady(t, server, opts)
}

func (p plane) withReady(t testing.TB, server *mcptest.Server, opts *mcp.ClientOptions) (*mcptest.Server, *mcp.Client) {
	t.Helper()
	return server, newReady(t, p.to(server), opts)
}

// legacy returns a server of the older kind, and modern one of the newer.
func legacy(t testing.TB, scripts ...mcptest.Script) *mcptest.Server {
	return mcptest.NewServer(t, append([]mcptest.Script{mcptest.Handshake(mcp.Revision20251125, "")}, scripts...)...)
}

func modern(t testing.TB, scripts ...mcptest.Script) *mcptest.Server {
	return mcptest.NewServer(t, append([]mcptest.Script{mcptest.Handshake(mcp.Revision20260728, "")}, scripts...)...)
}

// featured returns a server of a revision that offers all features.
func featured(t testing.TB, revision string, scripts ...mcptest.Script) *mcptest.Server {
	return mcptest.NewServer(t, append([]mcptest.Script{mcptest.Handshake(revision, allFeatures)}, scripts...)...)
}

// quiet are the capabilities of a server that announces nothing.
const quiet = `{"tools":{},"resources":{},"prompts":{}}`

const allFeatures = `{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}`

// refuseDiscover makes a server of an older revision know no server/discover.
func refuseDiscover(revision string) mcptest.Script {
	if revision >= mcp.Revision20260728 {
		return nil
	}
	return mcptest.Script{"server/discover": mcptest.Error(-32601, "method not found")}
}

func ready(t testing.TB, c *mcp.Client) {
	t.Helper()
	assert.OK(t, c.Ready(t.Context()))
}

func call(t testing.TB, c *mcp.Client, tool string) (*mcp.CallToolResult, error) {
	return c.CallTool(t.Context(), tool, json.RawMessage(`{}`), nil)
}

func mustCall(t testing.TB, c *mcp.Client, tool string) *mcp.CallToolResult {
	t.Helper()
	return assert.Value(call(t, c, tool))(t)
}

// text is a result of tools/call that holds one block of text.
func text(s string) mcptest.Handler {
	quoted, _ := json.Marshal(s)
	return mcptest.Result(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
}

// answerText answers a call of a tool with a text.
func answerText(c *mcptest.Call, s string) { text(s)(c) }

func textOf(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	wantLen(t, res.Content, 1, "blocks of content")
	return cast[*mcp.TextContent](t, res.Content[0]).Text
}

type transportFunc func(context.Context) (mcp.Conn, error)

func (f transportFunc) Connect(ctx context.Context) (mcp.Conn, error) { return f(ctx) }

// wrapped returns a transport whose connections are those of another, in a wrapper.
func wrapped(to mcp.Transport, wrap func(mcp.Conn) mcp.Conn) mcp.Transport {
	return transportFunc(func(ctx context.Context) (mcp.Conn, error) {
		conn, err := to.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return wrap(conn), nil
	})
}

// disconnect ends the connections to a server in a bubble, and shutDown lets none be made
// any more.
func disconnect(server *mcptest.Server) {
	server.Disconnect()
	synctest.Wait()
}

func shutDown(server *mcptest.Server) {
	server.Down(errDown)
	disconnect(server)
}

var errDown = errors.New("the server is down")

// initialized answers a request of the handshake as a server of revision 2025-11-25 does.
func initialized(method string) (result json.RawMessage, err error, ok bool) {
	switch method {
	case "server/discover":
		return nil, &mcp.JSONRPCError{Code: -32601, Message: "unknown method"}, true
	case "initialize":
		return json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`), nil, true
	}
	return nil, nil, false
}

// cast ends the test if v is not a T.
func cast[T any](t testing.TB, v any) T {
	t.Helper()
	typed, ok := v.(T)
	if !ok {
		t.Fatalf("got a %T, want a %T", v, typed)
	}
	return typed
}

// memberOf returns one member of an object, as it stands there.
func memberOf(t testing.TB, object json.RawMessage, name string) string {
	t.Helper()
	var members map[string]json.RawMessage
	assert.OK(t, json.Unmarshal(object, &members))
	return string(members[name])
}

// collect returns what a list yields, and the error it ends with.
func collect[T any](list iter.Seq2[*T, error]) (items []*T, err error) {
	for item, e := range list {
		if e != nil {
			return items, e
		}
		items = append(items, item)
	}
	return items, nil
}

// wantLen ends the test if a list has another length.
func wantLen[T any](t testing.TB, list []T, want int, what ...any) {
	t.Helper()
	assert.Equal(t, len(list), want, what...)
	if len(list) != want {
		t.FailNow()
	}
}

func wantCount(t testing.TB, s *mcptest.Server, method string, n int) {
	t.Helper()
	assert.Equal(t, len(s.Received(method)), n, "the server received messages %s", method)
}

func wantPhase(t testing.TB, c *mcp.Client, want mcp.Phase) mcp.State {
	t.Helper()
	s := c.State()
	assert.Equal(t, s.Phase, want, "phase with error %v", s.Err)
	return s
}

func wantOutcome(t testing.TB, err error, want mcp.Outcome) {
	t.Helper()
	assert.Fails(t, err)
	assert.Equal(t, mcp.OutcomeOf(err), want, "outcome of %q", err)
}

// wantNotSent checks that err is target, and that the request may be sent again.
func wantNotSent(t testing.TB, err, target error, what ...any) {
	t.Helper()
	assert.Is(t, err, target, what...)
	assert.True(t, mcp.SafeToRetry(err), "safe to retry %v", err)
}

// wantInvalid checks that err tells where an answer is invalid. Any method will do if
// that is empty.
func wantInvalid(t testing.TB, err error, method, path string, what ...any) {
	t.Helper()
	invalid := assert.As[*mcp.ProtocolError](t, err, what...)
	assert.Equal(t, [3]string{invalid.Server, invalid.Method, invalid.Path},
		[3]string{"scripted", cmp.Or(method, invalid.Method), path}, what...)
}

// wantOther checks that a value is another one.
func wantOther[T comparable](t testing.TB, got, not T, what ...any) {
	t.Helper()
	if got == not {
		assert.Equal(t, fmt.Sprint(got), "another value", what...)
	}
}

// wantDeep compares values that Go does not compare.
func wantDeep(t testing.TB, got, want any, what ...any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		assert.Equal(t, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want), what...)
	}
}

// askTask makes a request about a task.
func askTask(ctx context.Context, c *mcp.Client, method, id string) (json.RawMessage, error) {
	return c.Request(ctx, method, json.RawMessage(fmt.Sprintf(`{"taskId":%q}`, id)), nil)
}

func cancelTask(ctx context.Context, c *mcp.Client, id string) error {
	return assert.Err(askTask(ctx, c, "tasks/cancel", id))
}
