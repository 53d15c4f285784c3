package transport

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"
)

const (
	// lostWait is how long requests in flight may take to be refused as well, when the
	// session is lost or a login is wanted.
	lostWait = time.Second
	// deleteTimeout bounds the requests by which Close ends a session.
	deleteTimeout = 2 * time.Second
)

// enter and leave enclose what can find out that the session is lost.
func (c *httpConn) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running++
}

func (c *httpConn) leave() {
	c.mu.Lock()
	c.running--
	lost := c.lost
	last := c.running == 0
	c.mu.Unlock()
	if lost != nil && last {
		c.fail(lost)
	}
}

// lose ends the connection because the server does not know its session, or wants a
// login, and returns when it has ended. Other requests in flight get lostWait to be
// refused as well: cut off, they would count as possibly run. The caller has entered.
func (c *httpConn) lose(ctx context.Context, err error) {
	c.mu.Lock()
	c.lost = cmp.Or(c.lost, err)
	c.mu.Unlock()
	c.leave()
	defer c.enter()
	select {
	case <-c.ended.Done():
	case <-time.After(cmp.Or(c.patience, lostWait)):
	case <-ctx.Done():
	}
	c.fail(err)
}

// deleteSession ends a legacy session at the server. What still runs is
// cancelled first: some servers let a session end only after its requests.
func (c *httpConn) deleteSession() {
	header, session := c.bareHeader()
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	if session == "" || lost != nil || errors.As(context.Cause(c.ended), new(*unreachableError)) {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), cmp.Or(c.patience, deleteTimeout))
	defer stop()
	defer context.AfterFunc(ctx, func() { c.fail(errClosed) })()
	for _, id := range c.table.IDs() {
		c.cancel(id)
	}
	c.notes.wait()
	if _, resp, err := c.once(ctx, http.MethodDelete, c.url, header, nil); err == nil {
		_ = resp.Body.Close()
	}
}
