package mcp

//lint:file-ignore SA1019 logging is deprecated and in use.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// handshakeErr returns what is behind an error of the handshake: if the connection ended, why.
func (conn *connection) handshakeErr(ctx context.Context, err error) error {
	if conn.wire.Info().Err != nil {
		select {
		case <-conn.ended: // soon
		case <-ctx.Done():
		}
	}
	return cmp.Or(conn.lossErr(), err)
}

// A handshakeRequest is a request of the handshake on its way.
type handshakeRequest struct {
	done   chan struct{} // closed when it has ended
	result json.RawMessage
	err    error
	cancel context.CancelFunc
	traced func(result json.RawMessage, err error) // ends its trace; further calls do nothing
}

// handshake agrees with the server on a revision: by discover if version is stateless, and
// by initialize otherwise or if the server does not know discover, or does not answer it
// within patience, unless the revision is pinned. A server that refuses the revision of discover and names a stateless one that it supports, perhaps
// the same, is asked again with that, once. It returns when ctx ends or the
// connection does.
func (conn *connection) handshake(ctx context.Context, version string, patience time.Duration, again bool) (*serverInfo, error) {
	if !protocol.IsStateless(version) {
		return conn.initialize(ctx, version)
	}
	conn.discoverTimedOut = true
	meta := bytes.TrimSuffix(conn.shared.opts.requestMeta(version), []byte(","))
	discover := conn.begin(ctx, protocol.Discover, fmt.Appendf(nil, `{"_meta":{%s}}`, meta))
	defer discover.cancel()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-discover.done:
		if other := offeredRevision(discover.err); other != "" && !again && (other == version || !conn.shared.opts.pinned()) {
			return conn.handshake(ctx, other, patience, true)
		}
		info, err := conn.discovered(ctx, version, discover)
		if info != nil || err != nil {
			return info, err
		}
		return conn.initialize(ctx, protocol.NewestSession())
	case <-conn.ended:
		return nil, conn.readErr
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		discover.traced(nil, &TimeoutError{"idle", patience})
	}
	// An older server may not answer what it does not know.
	info, err := conn.initialize(ctx, protocol.NewestSession())
	conn.discoverLate = refusesHandshake(err) // it knows nothing older, and takes its time
	return info, err
}

// discovered reads the end of a discover request of a revision. It returns neither information nor an
// error if the server is to be initialized.
func (conn *connection) discovered(ctx context.Context, version string, discover *handshakeRequest) (*serverInfo, error) {
	err := discover.err
	conn.discoverTimedOut = err != nil && conn.hasEnded() && !SafeToRetry(err)
	switch {
	case err == nil:
	case conn.hasEnded(), ctx.Err() != nil, loginFor(err) != nil && !needsRights(err):
		return nil, err
	case conn.shared.opts.pinned():
		return nil, conn.refusedPin(err, true)
	default:
		return nil, withRevisions(modernRefusal(version, err))
	}
	if err := discoveredNone(discover.result); err != nil && !conn.shared.opts.pinned() {
		return nil, err
	}
	info, err := decodeServerInfo(discover.result)
	versions, _ := versionsIn(discover.result, "supportedVersions")
	revision := protocol.NewestStateless(versions)
	if conn.shared.opts.pinned() && (err != nil || !slices.Contains(versions, version)) {
		return nil, &ProtocolVersionError{want: version, offered: versions, err: err}
	}
	if err != nil || revision == "" {
		return nil, nil // as if it did not know the request
	}
	info.revision = cmp.Or(conn.shared.opts.ProtocolVersion, revision)
	if raw := jsonscan.Member(discover.result, "_meta", protocol.MetaServer); raw != nil {
		info.server = decodeLoosely[Implementation](raw)
	}
	return info, nil
}

// initialize makes the handshake of the revisions with sessions, and offers the given
// one. A server that refuses it, instead of naming another in its answer, is offered one
// other, once.
func (conn *connection) initialize(ctx context.Context, revision string) (*serverInfo, error) {
	info, err := conn.offer(ctx, revision)
	if other := otherRevision(err, revision); other != "" && !conn.shared.opts.pinned() && !conn.hasEnded() {
		if info, err := conn.offer(ctx, other); err == nil {
			return info, nil
		}
	}
	return info, err
}

// offer is initialize with one revision.
func (conn *connection) offer(ctx context.Context, revision string) (*serverInfo, error) {
	params, err := conn.shared.opts.initializeParams(revision)
	if err != nil {
		return nil, WithOutcome(err, NotSent) // settings of an extension that are no JSON
	}
	initialize := conn.begin(ctx, protocol.Initialize, params)
	defer initialize.cancel()
	select {
	case <-initialize.done:
	case <-conn.ended:
		return nil, conn.readErr
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if initialize.err != nil {
		if conn.shared.opts.pinned() {
			return nil, conn.refusedPin(initialize.err, false)
		}
		return nil, withRevisions(initialize.err)
	}
	info, err := decodeServerInfo(initialize.result)
	if err != nil {
		return nil, at("result", err)
	}
	if conn.shared.opts.pinned() && info.revision != revision {
		return nil, &ProtocolVersionError{want: revision, offered: []string{info.revision}}
	}
	if !protocol.IsKnown(info.revision) {
		return nil, fmt.Errorf("unsupported protocol version: %q", namesOf([]string{info.revision}))
	}
	if protocol.RevisionOf(info.revision).CoreTasks {
		info.tasks = decodeTaskAbilities(initialize.result)
	}
	return info, conn.notify(ctx, &jsonrpc.Request{Method: protocol.NoteInitialized, Params: json.RawMessage("{}")})
}

// begin sends a request of the handshake. It ends when it is answered, when ctx ends or
// when it is canceled; the server is not told of that.
func (conn *connection) begin(ctx context.Context, method string, params json.RawMessage) *handshakeRequest {
	ctx, cancel := context.WithCancel(ctx)
	r := &handshakeRequest{done: make(chan struct{}), cancel: cancel}
	m := &jsonrpc.Request{Method: method, Params: params}
	ctx, o := conn.open(ctx, m, false, false)
	var id atomic.Int64
	opts := &CallOptions{Numbered: func(n int64) {
		id.Store(n)
		conn.handshaking.Store(n)
	}}
	var once sync.Once
	r.traced = func(result json.RawMessage, err error) {
		once.Do(func() { conn.endRequest(o, id.Load(), result, err) })
	}
	send := func() {
		defer close(r.done)
		defer func() { r.traced(r.result, r.err) }()
		r.result, r.err = conn.wire.Call(ctx, method, m.Params, opts)
	}
	if !conn.run(send) {
		r.err = WithOutcome(errEnded, NotSent)
		r.traced(nil, r.err)
		close(r.done)
	}
	return r
}

// notify sends a notification, and does not wait longer than ctx for a connection that
// does.
func (conn *connection) notify(ctx context.Context, m *jsonrpc.Request) error {
	ctx, o := conn.open(ctx, m, false, true)
	err := writeOn(ctx, conn.run, conn.wire, m)
	o.end(nil, err)
	return err
}

// decodeServerInfo decodes the result of discover or initialize. Names of members are
// exact.
func decodeServerInfo(result []byte) (*serverInfo, error) {
	if err := jsonscan.Valid(result); err != nil {
		return nil, err
	}
	info := &serverInfo{capabilities: &ServerCapabilities{}}
	return decoded(info, decodeObject(result,
		field{name: "protocolVersion", into: &info.revision},
		field{name: "instructions", into: &info.instructions},
		field{name: "serverInfo", into: func(value []byte) error { info.server = decodeLoosely[Implementation](value); return nil }},
		field{name: "capabilities", into: func(value []byte) error {
			info.capabilities = cmp.Or(decodeLoosely[ServerCapabilities](value), info.capabilities)
			return nil
		}},
	))
}

// decodeLoosely decodes what a server says of itself, as far as it can be read; nil if it is no object. What is there in another
// form than the protocol's, such as the empty list that PHP writes for an empty object, is there without more.
func decodeLoosely[T any](object []byte) *T {
	if !isObject(object) {
		return nil
	}
	v := new(T)
	_ = decodeObject(object, loosely(fieldsOf(v, ""), func(into reflect.Value, value []byte) {
		if into.Kind() == reflect.Pointer && string(value) != "false" {
			into.Set(reflect.New(into.Type().Elem()))
		}
	})...)
	return v
}

// refusedPin returns the error for a handshake with the pinned revision that failed with
// err: a [*ProtocolVersionError] if the server answered that it does not speak it. Any
// answer to discover is one, since each server that speaks the revision knows it.
func (conn *connection) refusedPin(err error, discover bool) error {
	answer, offered := answerIn(err)
	if refusesHandshake(err) || len(offered) > 0 || discover && answer != nil {
		return &ProtocolVersionError{want: conn.shared.opts.ProtocolVersion, offered: offered, err: err}
	}
	return err
}

// endRequest ends the trace of a request of the handshake.
func (conn *connection) endRequest(info *RequestInfo, id int64, result json.RawMessage, err error) {
	if info == nil {
		return
	}
	if id != 0 {
		info.ID = strconv.FormatInt(id, 10)
	}
	info.Connection = conn.describe()
	if jsonscan.Valid(result) != nil {
		result = nil
	}
	if version, ok := jsonscan.String(jsonscan.Member(result, "protocolVersion")); ok {
		info.Connection.ProtocolVersion = version
	} else if info.Method == protocol.Discover && err == nil {
		info.Connection.ProtocolVersion = discoveredRevision(result)
	}
	if err != nil && !errors.As(err, new(*JSONRPCError)) {
		err = &UnavailableError{Server: conn.shared.name, Err: err} // as the callers of the client get it
	}
	info.end(result, err)
}
