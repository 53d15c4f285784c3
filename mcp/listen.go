package mcp

import (
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/backoff"
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

// A subscription is the request of revision 2026-07-28 by which a server is told
// to announce changes. It stays unanswered for as long as it lasts; the session
// makes it once, and the tap again when the server has ended it.
type subscription struct {
	request *jsonrpc.Request // the last one; nil if none was made
	made    time.Time
	ends    int // subscriptions that ended one after the other
	count   int
}

// subscribed notes a subscription on its way to the server.
func (t *tap) subscribed(req *jsonrpc.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listen.request, t.listen.made = req, time.Now()
	t.listen.count++
}

// unsubscribed reports whether m ends the present subscription, and sees to
// another one.
func (t *tap) unsubscribed(m *jsonrpc.Response) bool {
	t.mu.Lock()
	s := &t.listen
	if s.request == nil || m.ID != s.request.ID {
		t.mu.Unlock()
		return false
	}
	if time.Since(s.made) >= steadyListen {
		s.ends = 0
	}
	s.ends++
	attempt := s.ends
	next, err := s.again()
	t.mu.Unlock()
	if err != nil || attempt > maxListens || refusesForGood(m.Error) {
		return true
	}
	t.goes(func() {
		timer := time.NewTimer(backoff.Full(attempt-1, retryBase/2, retryBase, retryCeiling))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-t.ended:
			return
		case <-t.closed:
			return
		}
		_ = t.Write(t.reading, next) // without a connection there is nothing to renew
		poke(t.announce)             // what changed meanwhile was not announced
	})
	return true
}

// again returns the request for another subscription.
func (s *subscription) again() (*jsonrpc.Request, error) {
	id, err := jsonrpc.MakeID(fmt.Sprintf("%s %d", methodListen, s.count+1))
	return &jsonrpc.Request{ID: id, Method: methodListen, Params: s.request.Params}, err
}

// refusesForGood reports whether a server says that it does not do that.
func refusesForGood(err error) bool {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		return err != nil
	}
	return answer.Code == jsonrpc.CodeMethodNotFound || answer.Code == jsonrpc.CodeInvalidParams || answer.Code == jsonrpc.CodeInvalidRequest
}
