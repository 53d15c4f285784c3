package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/backoff"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

const (
	methodListen = "subscriptions/listen"
	// steadyListen is how long a subscription must have lasted for the ones
	// that ended before it to be forgotten.
	steadyListen = time.Minute
	// maxListens is how many subscriptions may end one after the other before
	// no other is made on the connection.
	maxListens = 10
)

// A subscription is what a server of revision 2026-07-28 is to announce. The
// request for it stays unanswered for as long as it lasts, and is made again
// when the server has ended it.
type subscription struct {
	wanted  func() json.RawMessage     // what is to be announced; nil: nothing
	begun   func()                     // is called when the server was asked
	agreed  func(asked, filter []byte) // is called when the server has agreed to filter
	failed  func(error)                // is called when it will not be made again, and at changes then
	changed <-chan struct{}            // something else is wanted
	ended   chan error                 // capacity 1: the server has ended it; nil: in good order

	id    jsonrpc.ID // of the request, guarded by the tap's lock, as the next
	asked []byte
}

// listenLists subscribes to announcements of other tools, resources and prompts,
// as far as the server makes them, and returns when the server was asked, so that
// what is listed then is not listed too early.
func (c *Client) listenLists(ctx context.Context, l *life) error {
	caps := l.info.Capabilities
	if !l.modern() || caps == nil {
		return nil
	}
	filter := object(
		flag("toolsListChanged", caps.Tools != nil && caps.Tools.ListChanged),
		flag("promptsListChanged", caps.Prompts != nil && caps.Prompts.ListChanged),
		flag("resourcesListChanged", caps.Resources != nil && caps.Resources.ListChanged),
	)
	if string(filter) == "{}" {
		return nil
	}
	made := false
	asked := make(chan struct{})
	l.watch.Go(func() {
		l.keep(&subscription{
			wanted: func() json.RawMessage { return filter },
			begun:  sync.OnceFunc(func() { close(asked) }),
			agreed: func(_, _ []byte) {
				// The second time the subscription was mended, and what changed
				// meanwhile was not announced.
				if made {
					l.missed(c)
				}
				made = true
			},
			failed: func(err error) {
				c.opts.Logger.Warn("mcp: the server does not announce changes", "server", c.name, "error", err)
			},
			ended: make(chan error, 1),
		})
	})
	select {
	case <-asked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func flag(key string, set bool) member {
	if !set {
		return member{key, nil}
	}
	return member{key, json.RawMessage("true")}
}

// keep makes a subscription whenever it has to be made, until the life ends.
func (l *life) keep(s *subscription) {
	var present json.RawMessage
	var made time.Time
	ends := 0 // one after the other
	for {
		if wanted := s.wanted(); !bytes.Equal(wanted, present) {
			l.tap.unlisten(s)
			if present = wanted; present != nil {
				made = time.Now()
				l.tap.listen(s, l.meta, present)
			}
			s.begun()
		}
		var err error
		select {
		case <-l.alive.Done():
			return
		case <-s.changed:
			continue
		case err = <-s.ended:
		}
		if time.Since(made) >= steadyListen {
			ends = 0
		}
		for ends++; ends > maxListens || err != nil && refusesForGood(err); {
			s.failed(err)
			select {
			case <-s.changed:
			case <-l.alive.Done():
				return
			}
		}
		if sleep(l.alive, backoff.Full(ends-1, retryBase/2, retryBase, retryCeiling)) != nil {
			return
		}
		present = nil
		l.missed(l.tap.client)
	}
}

// missed takes it that lists have changed while the server announced nothing.
func (l *life) missed(c *Client) {
	l.tap.mended.Add(1)
	c.listChanged(listTools | listResources | listPrompts)
}

// listen makes a subscription.
func (t *tap) listen(s *subscription, meta []byte, filter json.RawMessage) {
	t.mu.Lock()
	t.listens++
	id, err := jsonrpc.MakeID(fmt.Sprintf("%s %d", methodListen, t.listens))
	s.id, s.asked = id, filter
	t.subscriptions[id] = s
	t.mu.Unlock()
	if err == nil {
		fields := append([]byte(`{"_meta":{`), bytes.TrimSuffix(meta, []byte(","))...)
		fields = append(append(append(fields, `},"notifications":`...), filter...), '}')
		err = t.conn.Write(t.reading, &jsonrpc.Request{ID: id, Method: methodListen, Params: fields})
	}
	if err != nil {
		t.unsubscribe(id, err)
	}
}

// unlisten ends a subscription, if it was made.
func (t *tap) unlisten(s *subscription) {
	t.mu.Lock()
	id := s.id
	known := t.subscriptions[id] == s
	delete(t.subscriptions, id)
	t.mu.Unlock()
	if !known {
		return
	}
	params, _ := json.Marshal(map[string]any{"requestId": id.Raw()})
	_ = t.conn.Write(t.reading, &jsonrpc.Request{Method: "notifications/cancelled", Params: params})
}

// unsubscribe notes that the server has ended a subscription.
func (t *tap) unsubscribe(id jsonrpc.ID, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.subscriptions[id]; s != nil {
		delete(t.subscriptions, id)
		s.ended <- err // there is room: it ends once
	}
}

// unsubscribed reports whether m ends a subscription, perhaps an earlier one.
func (t *tap) unsubscribed(m *jsonrpc.Response) bool {
	id, ok := m.ID.Raw().(string)
	if !ok || !strings.HasPrefix(id, methodListen) {
		return false
	}
	t.unsubscribe(m.ID, m.Error)
	return true
}

// acknowledged takes the server's word for what it will announce.
func (t *tap) acknowledged(params json.RawMessage) {
	var id jsonrpc.ID
	var filter []byte
	for key, value := range jsonscan.Fields(params) {
		switch string(key) {
		case "_meta":
			id = subscriptionID(value)
		case "notifications":
			filter = value
		}
	}
	t.mu.Lock()
	s := t.subscriptions[id]
	var asked []byte
	if s != nil {
		asked = s.asked
	}
	t.mu.Unlock()
	if s != nil {
		s.agreed(asked, filter)
	}
}

func subscriptionID(meta []byte) jsonrpc.ID {
	for key, value := range jsonscan.Fields(meta) {
		if string(key) == "io.modelcontextprotocol/subscriptionId" {
			if text, ok := jsonscan.String(value); ok {
				id, _ := jsonrpc.MakeID(text)
				return id
			}
		}
	}
	return jsonrpc.ID{}
}

// refusesForGood reports whether a server says that it does not do that.
func refusesForGood(err error) bool {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		return true
	}
	return answer.Code == jsonrpc.CodeMethodNotFound || answer.Code == jsonrpc.CodeInvalidParams || answer.Code == jsonrpc.CodeInvalidRequest
}
