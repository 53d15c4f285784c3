package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// A Session lets a connection go on with the session of a former one, which it does not
// have to initialize then. It is for one user at one server. The zero Session is ready for
// use; all methods are safe for concurrent use.
//
// The next connection gets the session if its fields, its token and what it asks for in
// initialize are those of the former one; otherwise it ends the session and has its own. If
// the server does not know the session any more, the requests fail with
// [mcp.ErrSessionLost], and the connection after that has its own.
type Session struct {
	mu     sync.Mutex // guards the following
	keep   bool
	former *former // nil: none is kept
}

// A former is what is kept of a closed connection.
type former struct {
	recipe           *HTTP
	session, version string
	opened           *opening
	last             int64  // number of its last request
	authorization    string // that let it in
}

// end ends the session.
func (f *former) end() {
	c, err := f.recipe.connect()
	if err != nil {
		return // cannot be: it was connected before
	}
	c.session, c.version = f.session, f.version
	c.deleteSession()
	c.fail(errClosed)
	c.endpoint.close()
}

// An opening is how a session was initialized.
type opening struct{ params, result json.RawMessage }

// Keep has the connection, when it is closed, keep its session at the server, if it has
// one and no request is under way, until the session is used or ended.
func (s *Session) Keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = true
}

// Kept reports whether a session is kept.
func (s *Session) Kept() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.former != nil
}

// End ends the session at the server if one is kept, waiting at most two seconds.
func (s *Session) End() {
	if f := s.take(); f != nil {
		f.end()
	}
}

func (s *Session) take() *former {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.former
	s.former = nil
	return f
}

// hold keeps the session of a connection that is about to be closed, and reports whether
// it did.
func (c *httpConn) hold() bool {
	s := c.recipe.Session
	if s == nil || !c.table.Idle() || c.ended.Err() != nil {
		return false
	}
	c.mu.Lock()
	f := &former{recipe: c.recipe, session: c.session, version: c.version, opened: c.opened, last: c.table.Last()}
	sound := f.session != "" && f.opened != nil && c.lost == nil
	c.mu.Unlock()
	if !sound {
		return false
	}
	ctx, stop := context.WithTimeout(context.Background(), deleteTimeout)
	defer stop()
	var err error
	f.authorization, err = c.authorization(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || !s.keep || s.former != nil {
		return false
	}
	s.keep, s.former = false, f
	return true
}

// takeOver goes on with the session that is kept, and returns the result of its initialize;
// nil if there is none, or it is another one's.
func (c *httpConn) takeOver(ctx context.Context, params json.RawMessage) json.RawMessage {
	s := c.recipe.Session
	if s == nil || !s.Kept() {
		return nil
	}
	authorization, err := c.authorization(ctx)
	f := s.take()
	if f == nil {
		return nil
	}
	if err != nil || authorization != f.authorization || !bytes.Equal(params, f.opened.params) ||
		!maps.EqualFunc(c.recipe.Header, f.recipe.Header, slices.Equal[[]string]) {
		c.notes.goes(f.end)
		return nil
	}
	c.table.Continue(f.last)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.version, c.opened, c.fields, c.resumed = f.session, f.version, f.opened, nil, true
	return c.opened.result
}

// authorization returns the field that lets a request in now.
func (c *httpConn) authorization(ctx context.Context) (string, error) {
	header := http.Header{"Authorization": c.header["Authorization"]}
	bearer, err := c.bearer(ctx)
	if err != nil || bearer != "" {
		return bearer, err
	}
	header, err = c.authenticate(ctx, header, http.MethodDelete, c.url, nil)
	return header.Get("Authorization"), err
}
