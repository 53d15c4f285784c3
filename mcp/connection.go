package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/internal/pulse"
)

// A connection is one connection of the transport from its handshake to its end. It carries
// requests and receives what the server sends unasked. It owns the goroutines that answer the
// server's requests, the one that keeps the subscriptions to changes, and the one that runs
// while a silent server is pinged.
type connection struct {
	shared *shared
	wire   Caller

	// The handshake sets the following before it sets ready.
	ready  atomic.Bool
	info   *serverInfo
	opened time.Time
	meta   []byte // the members of _meta in every request, each followed by a comma
	number int    // State.Connections of this connection; set before it is published

	levelSet bool // the server was told which messages to log; guarded by the lock "level"

	// The following belong to the handshake.
	handshaking      atomic.Int64 // the id of the handshake's last request
	discoverTimedOut bool         // discover was sent and was not answered in time
	discoverLate     bool         // the server did not know what it was asked after that time

	changes     atomic.Int64          // how often the server announced that its tools changed, or may have done so
	listed      atomic.Int64          // the value of changes when the list of tools was last read
	unannounced atomic.Bool           // the server does not announce changed tools, although it declares it
	login       atomic.Pointer[login] // the login that the server wants before it answers; nil if none

	strays  atomic.Int64           // responses to requests that were not made
	strayID atomic.Pointer[string] // the id of the last of these; nil if there is none

	pulse     pulse.Pulse
	lastSigns uint64 // ConnInfo.Signs when working was called last
	unhealthy error  // why the connection has to be given up; nil: it need not be; guarded by shared.mu
	allowance allowance

	receiving  sync.Mutex      // held while a message is received
	ctx        context.Context // ends with the connection
	cancel     context.CancelFunc
	ended      chan struct{} // closed when nothing more can be read
	readErr    error         // why nothing more can be read; valid once ended is closed
	closedByUs bool          // endErr was set before ended was closed; valid as readErr is

	drained chan struct{} // has capacity 1 and receives when the last request of a superseded connection has ended

	goroutines
	mu            sync.Mutex // guards the following
	pending       map[*pendingRequest]struct{}
	started       int           // how many requests were added to pending
	endErr        error         // why the connection ended; once set, no request is sent
	health        *time.Timer   // runs the next check of a silent server; nil before the first
	deadlineTimer *time.Timer   // runs expireDue; nil before the first request
	deadlineAt    time.Duration // when deadlineTimer expires, since opened, at the earliest deadline or before; 0: it is stopped
	unanswered    unanswered
	serving       map[jsonrpc.ID]*service // the server requests that are handled, by their ids
	answering     int                     // how many handlers of server requests run
	answeredAt    time.Time               // when the last of them returned
	subscriptions subscriptions
}

func newConnection(s *shared, wire Conn) *connection {
	conn := &connection{
		shared:  s,
		wire:    CallerOf(wire),
		ended:   make(chan struct{}),
		drained: make(chan struct{}, 1),
		pending: make(map[*pendingRequest]struct{}),
		serving: make(map[jsonrpc.ID]*service),
	}
	conn.ctx, conn.cancel = context.WithCancel(s.closing)
	return conn
}

// modern reports whether a stateless revision is spoken, after the handshake.
func (conn *connection) modern() bool { return protocol.IsStateless(conn.info.revision) }

// noteEnd notes that the connection has ended, and why. Only the first call counts.
func (conn *connection) noteEnd(err error) {
	conn.mu.Lock()
	first := !isClosed(conn.ended)
	if first {
		conn.readErr, conn.closedByUs = err, conn.endErr != nil
		close(conn.ended)
	}
	conn.mu.Unlock()
	if first {
		conn.shared.notify(0)
	}
}

// hasEnded reports whether the connection has ended, even if the reader has not seen it yet.
func (conn *connection) hasEnded() bool { return isClosed(conn.ended) || conn.wire.Info().Err != nil }

// lossErr returns why the connection ended if that was not by close, or nil.
func (conn *connection) lossErr() error {
	if isClosed(conn.ended) && !conn.closedByUs {
		return conn.readErr
	}
	return nil
}

// close ends a connection. It waits for the connection to close, as long as that
// takes, and for a while for handlers that still run.
func (conn *connection) close(cause error) {
	conn.end(cause)
	_ = conn.wire.Close()
	conn.wait()
}

// after runs f on a goroutine of its own in d, unless the connection ends before.
func (conn *connection) after(d time.Duration, f func()) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.endErr == nil {
		conn.health = time.AfterFunc(d, func() { conn.run(f) })
	}
}

// working reports whether the server has shown that it is at work since the last time
// it was asked. It is called by one goroutine at a time.
func (conn *connection) working() bool {
	before := conn.lastSigns
	conn.lastSigns = conn.wire.Info().Signs
	return conn.lastSigns != before
}

// end cancels all pending requests.
func (conn *connection) end(cause error) {
	conn.mu.Lock()
	conn.endErr = cause
	conn.cancel()
	for _, t := range []*time.Timer{conn.health, conn.deadlineTimer} {
		if t != nil {
			t.Stop()
		}
	}
	pending := slices.Collect(maps.Keys(conn.pending))
	conn.mu.Unlock()
	for _, p := range pending {
		p.cancel(context.Canceled, cause)
	}
}

// A serverInfo is what a server says of itself in the handshake.
type serverInfo struct {
	revision     string
	server       *Implementation
	capabilities *ServerCapabilities // never nil
	instructions string
	tasks        taskAbilities // of revision 2025-11-25
}

// unanswered are requests in a row that were given up.
type unanswered struct {
	n     int
	heard int64 // the last sign of life, which came before the first of them was
	begun int   // requests that had begun by then
}

// A service is one request of the server under way. Its id can come again when
// the server has withdrawn it.
type service struct{ cancel context.CancelFunc }

// strayed notes an answer to a request that nobody made.
func (conn *connection) strayed(id jsonrpc.ID) {
	text := []byte("null")
	if id.IsValid() {
		text, _ = json.Marshal(id.Raw()) // a string or number always encodes
	}
	said := harmless(text)
	conn.strayID.Store(&said)
	if conn.strays.Add(1) == 1 {
		conn.shared.opts.Logger.Warn("mcp: the server answers a request that nobody made", "server", conn.shared.name, "id", said)
	}
}

// withStrays adds to the error of a wait for an answer that other answers have come instead.
func (conn *connection) withStrays(err error) error {
	id := conn.strayID.Load()
	if id == nil {
		return err
	}
	return fmt.Errorf("%w; the server has answered requests that nobody made %d times, the last with id %s", err, conn.strays.Load(), *id)
}

// patience returns for how much longer a request may be without an answer that
// has been so for idle, because the server had to wait for an answer itself.
func (conn *connection) patience(idle time.Duration) time.Duration {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.answering > 0 {
		return idle
	}
	return time.Until(conn.answeredAt.Add(idle))
}

// metaWith returns what requestMeta wrote for the connection with other capabilities, if there are any. They are
// the last of its members.
func (conn *connection) metaWith(capabilities json.RawMessage) []byte {
	const key = `"` + protocol.MetaCapabilities + `":`
	i := bytes.Index(conn.meta, []byte(key))
	if capabilities == nil || i < 0 {
		return conn.meta
	}
	return slices.Concat(conn.meta[:i+len(key)], capabilities, []byte{','})
}

// ping is the method by which a server is asked for a sign of life.
func (conn *connection) ping() string {
	if conn.modern() {
		return protocol.Discover
	}
	return protocol.Ping
}

// giveUp has the connection ended, unless that is on its way already.
func (conn *connection) giveUp(because error) {
	c := conn.shared
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.unhealthy == nil {
		conn.unhealthy = because
		c.notifyLocked(0)
	}
}

// announcesTools reports whether the server announces other tools, as far as it
// has not turned out yet that it does not.
func (conn *connection) announcesTools() bool {
	tools := conn.info.capabilities.Tools
	return tools != nil && tools.ListChanged && !conn.unannounced.Load()
}

// open begins to trace a message that is not a request of a caller; nil if there is no tracer.
// One that is to be written gets what the tracer adds.
func (conn *connection) open(ctx context.Context, m *jsonrpc.Request, incoming, notification bool) (context.Context, *RequestInfo) {
	t := conn.shared.tracing
	if t == nil {
		return ctx, nil
	}
	info := &RequestInfo{
		Server: conn.shared.name, Method: m.Method, Incoming: incoming, Notification: notification, Connection: conn.describe(), params: m.Params,
	}
	if m.IsCall() {
		info.ID = fmt.Sprint(m.ID.Raw())
	}
	ctx = t.start(ctx, info)
	if !incoming {
		info.Attempts, info.SentAt = 1, time.Now()
		if len(info.meta) > 0 {
			m.Params = withMeta(m.Params, info.meta...)
		}
	}
	return ctx, info
}

// describe returns what is known of the connection.
func (conn *connection) describe() ConnInfo {
	info := conn.wire.Info()
	info.SessionID = conn.wire.SessionID()
	if conn.ready.Load() {
		info.ProtocolVersion = conn.info.revision
	}
	return info
}

// announcesUpdates reports whether the server says that it announces changes.
func (conn *connection) announcesUpdates() bool {
	resources := conn.info.capabilities.Resources
	return resources != nil && resources.Subscribe
}

// The subscriptions of a connection of revision 2026-07-28, but for idle guarded by its lock.
type subscriptions struct {
	made      int           // requests
	idle      atomic.Bool   // several ended soon one after the other: no list is read for the next
	present   *subscription // nil if there is none
	cancelled *subscription // the one before it, while that has not ended
}

// again reports whether changes may have been missed between two of them.
func (s *subscriptions) again() bool { return s.made > 1 && !s.idle.Load() }

// A subscription is one such request.
type subscription struct {
	id    jsonrpc.ID
	asked json.RawMessage // what is to be announced; nil: nothing, and there is no request
	made  time.Time
	ended chan error // capacity 1: the server has ended it; nil: in good order
}

// aside sends one request beside those of callers.
func (conn *connection) aside(ctx context.Context, method string, meta []byte) (result []byte, err error) {
	ctx, info := conn.shared.trace(ctx, &request{method: method})
	defer func() { info.end(result, err) }()
	var opts CallOptions
	info.departs(conn, &opts)
	return conn.exchangeOn(ctx, method, fmt.Appendf(nil, `{"_meta":{%s}}`, bytes.TrimSuffix(meta, []byte(","))), &opts)
}

// exchangeOn exchanges one request on the data plane of a connection.
func (conn *connection) exchangeOn(ctx context.Context, method string, params json.RawMessage, opts *CallOptions) (json.RawMessage, error) {
	before := conn.login.Load()
	result, err := conn.wire.Call(ctx, method, params, opts)
	conn.heed(before, err)
	return result, err
}

// heed draws from the end of a request whether the user has to log in. Until they have,
// the connection stays: other requests may be on their way, and each later one finds
// out for itself whether it is let in. before is what was needed when the request was
// sent: an answer shows that it is needed no more.
func (conn *connection) heed(before *login, err error) {
	if err == nil && before == nil {
		return
	}
	if n := loginFor(err); n != nil && !needsRights(err) {
		conn.login.Store(n)
		conn.shared.notify(loginChanged)
	} else if before != nil && OutcomeOf(err) == Answered && conn.login.CompareAndSwap(before, nil) {
		conn.shared.notify(loginChanged)
	}
}
