package gateway

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// maxUnderWay bounds the requests of one client that are under way at a time.
const maxUnderWay = 1024

// An underWay has the requests of a client that are under way, over all its connections.
type underWay struct {
	busy  sync.Mutex // guards the following
	byID  map[string]*running
	used  time.Time // when a request began, ended or was left alone last
	ended bool      // no further one is taken
}

// A running is a request under way, until the client withdraws it.
type running struct {
	ctx      context.Context // ends when the client withdraws the request
	withdraw context.CancelFunc
	left     bool // the client has gone away meanwhile; guarded by busy
}

// enter notes a request under way, by its id. It fails if there is one of the same id, or too many.
func (u *underWay) enter(id json.RawMessage) (*running, *mcp.JSONRPCError) {
	u.busy.Lock()
	defer u.busy.Unlock()
	u.used = time.Now()
	switch {
	case u.ended:
		return nil, message.Failure(message.CodeInvalidRequest, "the session has ended")
	case len(u.byID) >= maxUnderWay:
		return nil, message.Failure(message.CodeBusy, "more than %d requests are under way", maxUnderWay)
	case u.byID[string(id)] != nil:
		return nil, message.Failure(message.CodeInvalidRequest, "a request with the id %.100s is under way", id)
	case u.byID == nil:
		u.byID = map[string]*running{} // most clients are idle
	}
	r := &running{}
	r.ctx, r.withdraw = context.WithCancel(context.Background())
	u.byID[string(id)] = r
	return r, nil
}

// leave forgets a request that has ended.
func (u *underWay) leave(id json.RawMessage) {
	u.busy.Lock()
	defer u.busy.Unlock()
	u.used = time.Now()
	if delete(u.byID, string(id)); len(u.byID) == 0 {
		u.byID = nil
	}
}

// touch notes that the client is there.
func (u *underWay) touch() {
	u.busy.Lock()
	defer u.busy.Unlock()
	u.used = time.Now()
}

// leftAlone notes that the client is gone which made a request. It may come back for the answer, until the session
// has been idle for too long.
func (u *underWay) leftAlone(r *running) {
	u.busy.Lock()
	defer u.busy.Unlock()
	r.left, u.used = true, time.Now()
}

// noted takes a notification of the client: it may withdraw a request.
func (u *underWay) noted(m *jsonscan.Message) {
	if m.Method != protocol.NoteCancelled {
		return
	}
	u.busy.Lock()
	r := u.byID[string(jsonscan.Member(m.Params, "requestId"))]
	u.busy.Unlock()
	if r != nil {
		r.withdraw()
	}
}

// idleSince returns how long no client has waited for a request.
func (u *underWay) idleSince(now time.Time) time.Duration {
	u.busy.Lock()
	defer u.busy.Unlock()
	for _, r := range u.byID {
		if !r.left {
			return 0
		}
	}
	return now.Sub(u.used)
}

// withdrawAll withdraws the requests, and takes no more.
func (u *underWay) withdrawAll() {
	u.busy.Lock()
	defer u.busy.Unlock()
	u.ended = true
	for _, r := range u.byID {
		r.withdraw()
	}
}
