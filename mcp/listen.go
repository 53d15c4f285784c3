package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/backoff"
	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

const (
	// steadyListen is how long a subscription must have lasted for the ones
	// that ended before it to be forgotten.
	steadyListen = time.Minute
	// maxListens is how many subscriptions may end one after the other before
	// no other is made on the connection.
	maxListens = 10
	// listenGrace is how long a cancelled subscription may take to end.
	listenGrace = time.Second
)

// A listener has a server of revision 2026-07-28 announce changes of its lists,
// and of the resources that a person follows. It makes one request for all of
// that, which stays unanswered for as long as it lasts, and makes it again when
// something else is wanted or the server has ended it.
//
// There is one request, and the next is made when the one before it has ended,
// because there are servers that forget all subscriptions of a connection when
// one of them ends.
type listener struct {
	conn  *connection
	lists []member // that are announced; nil: none
}

// listen begins to listen, as far as the server announces anything, and returns
// when it was asked to, so that what is listed then is not listed too early.
func (conn *connection) listen(ctx context.Context) error {
	n := &listener{conn: conn, lists: conn.announcedLists()}
	if n.lists == nil && !conn.announcesUpdates() {
		return nil
	}
	begun := make(chan struct{})
	conn.run(func() { n.run(begun) })
	select {
	case <-begun:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// announcedLists returns the lists whose changes the server says to announce.
func (conn *connection) announcedLists() (lists []member) {
	caps := conn.info.capabilities
	add := func(key string, announced bool) {
		if announced {
			lists = append(lists, member{key, json.RawMessage("true")})
		}
	}
	add("toolsListChanged", caps.Tools != nil && caps.Tools.ListChanged)
	add("promptsListChanged", caps.Prompts != nil && caps.Prompts.ListChanged)
	add("resourcesListChanged", caps.Resources != nil && caps.Resources.ListChanged)
	return lists
}

// wanted returns what is to be announced, or nil.
func (n *listener) wanted() json.RawMessage {
	members := n.lists
	if uris := n.conn.shared.topics.URIs(); len(uris) > 0 && n.conn.announcesUpdates() {
		list, _ := json.Marshal(uris) // strings always encode
		members = append(members[:len(members):len(members)], member{"resourceSubscriptions", list})
	}
	if len(members) == 0 {
		return nil
	}
	return object(members...)
}

// run makes the request whenever it has to be made, until the connection ends. It
// closes begun when it has done so for the first time.
func (n *listener) run(begun chan<- struct{}) {
	s := &subscription{}
	ends := 0 // one after the other
	for {
		if wanted := n.wanted(); !bytes.Equal(wanted, s.asked) {
			n.stop()
			s = n.start(wanted)
		}
		if begun != nil {
			close(begun)
			begun = nil
		}
		var err error
		select {
		case <-n.conn.ctx.Done():
			return
		case <-n.conn.shared.topics.Changed:
			continue
		case err = <-s.ended:
		}
		if err != nil && n.conn.hasEnded() { // it was not refused: the next connection makes it
			<-n.conn.ctx.Done()
			return
		}
		if time.Since(s.made) >= steadyListen {
			ends = 0
		}
		n.conn.subscriptions.idle.Store(ends > 0)
		ends++
		switch refused := err != nil && refusesForGood(err); {
		case refused || ends > maxListens:
			n.giveUp(s.asked, err, !refused)
		case feed.Sleep(n.conn.ctx, backoff.Full(ends-1, retryBase/2, retryBase, retryCeiling)) != nil:
			return
		}
		s = &subscription{}
	}
}

// giveUp stops wanting what the server does not announce. It may just not know
// one of the resources, so the lists are wanted further unless they were all that
// was asked for, or all is to be given up.
func (n *listener) giveUp(asked json.RawMessage, err error, all bool) {
	if err == nil {
		err = errors.New("the server ends every subscription")
	}
	err = n.conn.shared.explain(&request{method: protocol.Listen}, WithOutcome(err, Answered))
	uris := resourcesOf(asked)
	for uri := range uris {
		n.conn.shared.topics.Fail(uri, err)
	}
	if n.lists != nil && (all || len(uris) == 0) {
		n.conn.shared.opts.Logger.Warn("mcp: the server does not announce changes", "server", n.conn.shared.name, "error", err)
		n.conn.unannounced.Store(true)
		n.lists = nil
	}
}

// start makes the request, unless nothing is to be announced.
func (n *listener) start(filter json.RawMessage) *subscription {
	s := &subscription{asked: filter, made: time.Now(), ended: make(chan error, 1)}
	if filter == nil {
		return s
	}
	conn := n.conn
	conn.mu.Lock()
	of := &conn.subscriptions
	of.made++
	again := of.again()
	s.id, _ = jsonrpc.MakeID(fmt.Sprintf("%s %d", protocol.Listen, of.made)) // a string always is one
	of.present = s
	conn.mu.Unlock()
	params := append([]byte(`{"_meta":{`), bytes.TrimSuffix(conn.meta, []byte(","))...)
	params = append(append(append(params, `},"notifications":`...), filter...), '}')
	m := &jsonrpc.Request{ID: s.id, Method: protocol.Listen, Params: params}
	ctx, o := conn.open(conn.ctx, m, false, false)
	err := conn.wire.Write(ctx, m)
	o.end(nil, err) // it stays unanswered
	if err != nil {
		conn.endListening(s.id, err)
	}
	if again {
		conn.missed()
	}
	return s
}

// stop cancels the request, if there is one, and waits for its end where that matters.
func (n *listener) stop() {
	conn := n.conn
	conn.mu.Lock()
	s := conn.subscriptions.present
	conn.subscriptions.present, conn.subscriptions.cancelled = nil, s
	conn.mu.Unlock()
	if s == nil {
		return
	}
	n.conn.subscriptions.idle.Store(false)
	params, _ := json.Marshal(map[string]any{"requestId": s.id.Raw()})
	err := conn.wire.Write(conn.ctx, &jsonrpc.Request{Method: protocol.NoteCancelled, Params: params})
	if err != nil || conn.wire.Info().Stateless {
		return // each request is a connection of its own
	}
	select {
	case <-s.ended:
	case <-time.After(listenGrace):
	case <-conn.ctx.Done():
	}
}

// missed takes it that lists have changed while the server announced nothing.
func (conn *connection) missed() {
	conn.changes.Add(1)
	conn.shared.listChanged(listTools | listResources | listPrompts)
}

// listened takes the answer to a subscription, which ends it, and reports whether it is one.
func (conn *connection) listened(m *jsonrpc.Response) bool {
	id, ok := m.ID.Raw().(string)
	if ok = ok && strings.HasPrefix(id, protocol.Listen); ok {
		conn.endListening(m.ID, m.Error)
	}
	return ok
}

// endListening notes that a subscription has ended, if the id is that of one.
func (conn *connection) endListening(id jsonrpc.ID, err error) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	for _, s := range []**subscription{&conn.subscriptions.present, &conn.subscriptions.cancelled} {
		if *s != nil && (*s).id == id {
			(*s).ended <- err
			*s = nil
		}
	}
}

// acknowledged takes the server's word for what it will announce.
func (conn *connection) acknowledged(params json.RawMessage) {
	text, _ := jsonscan.String(jsonscan.Member(params, "_meta", protocol.MetaSubscription))
	id, _ := jsonrpc.MakeID(text)
	conn.mu.Lock()
	s, again := conn.subscriptions.present, conn.subscriptions.again() // a transport that mends the stream says itself what it may have missed
	conn.mu.Unlock()
	if s == nil || id != s.id {
		return
	}
	if again {
		conn.missed()
	}
	filter := jsonscan.Member(params, "notifications")
	conn.unannounced.Store(string(jsonscan.Member(filter, "toolsListChanged")) != "true")
	conn.shared.agreedOn(s.asked, filter)
}

// follow has the server announce changes. Those who wait for some that this
// server will not announce, unlike the one before it, wait no longer.
func (conn *connection) follow(ctx context.Context) error {
	conn.shared.topics.Disagree("")
	if !conn.announcesUpdates() {
		conn.shared.topics.Fail("", conn.shared.announcesNothing())
	}
	if conn.modern() {
		return conn.listen(ctx)
	}
	if conn.announcesUpdates() {
		conn.run(conn.subscribe)
	}
	return nil
}

// agreedOn wakes the watchers of those resources whose changes the server will
// announce, and ends those of the others that it was asked for.
func (s *shared) agreedOn(asked, filter []byte) {
	agreed := resourcesOf(filter)
	s.topics.Disagree("")
	for uri := range resourcesOf(asked) {
		if agreed[uri] {
			s.topics.Agree(uri)
		} else {
			s.topics.Fail(uri, WithOutcome(fmt.Errorf("mcp: server %q does not announce changes of %q: %w", s.name, uri, errors.ErrUnsupported), Answered))
		}
	}
}

// subscribe has a server of an older revision announce changes of the resources
// that a person follows, one by one.
func (conn *connection) subscribe() {
	const subscribe, unsubscribe = "resources/subscribe", "resources/unsubscribe"
	tell := func(method, uri string) error {
		return conn.tellServer(conn.ctx, method, member{"uri", appendQuoted(nil, uri)})
	}
	have := make(map[string]bool)
	for {
		wanted := conn.shared.topics.URIs()
		for _, uri := range wanted {
			if have[uri] {
				continue
			}
			err := tell(subscribe, uri)
			switch {
			case err == nil:
				have[uri] = true
				conn.shared.topics.Agree(uri)
			case conn.hasEnded(), conn.ctx.Err() != nil:
				return // the next connection is asked
			default:
				if !errors.As(err, new(*ServerError)) {
					conn.shared.opts.Logger.Warn("mcp: no subscription", "server", conn.shared.name, "uri", uri, "error", err)
				}
				conn.shared.topics.Fail(uri, err)
			}
		}
		for uri := range have {
			if !slices.Contains(wanted, uri) {
				delete(have, uri)
				conn.shared.topics.Disagree(uri)
				_ = tell(unsubscribe, uri) // it may go on announcing
			}
		}
		select {
		case <-conn.shared.topics.Changed:
		case <-conn.ctx.Done():
			return
		}
	}
}

// resourcesOf returns the resources that a filter names.
func resourcesOf(filter []byte) map[string]bool {
	set := make(map[string]bool)
	for item := range jsonscan.Elements(jsonscan.Member(filter, "resourceSubscriptions")) {
		if uri, ok := jsonscan.String(item); ok {
			set[uri] = true
		}
	}
	return set
}
