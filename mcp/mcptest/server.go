package mcptest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Server is a scripted server that any number of connections can be made to,
// and an [mcp.Transport] that makes them. It is safe for concurrent use.
type Server struct {
	t      testing.TB
	script Script

	mu       sync.Mutex // guards the following
	down     error
	made     int // connections
	links    map[*link]bool
	received []Received
	changed  chan struct{} // closed and replaced with each message received
}

// Received is a message that the client sent.
type Received struct {
	Connection int             // on which it came: 1 is the first
	Number     int             // among those of its method: 1 is the first
	Method     string          // of a request or a notification
	Params     json.RawMessage // as it stands in the message; may be nil
}

// NewServer returns a server that follows the scripts; where several of them
// name a method, the last one counts. At the end of the test it ends every
// connection that is left and waits for all handlers.
func NewServer(t testing.TB, scripts ...Script) *Server {
	s := &Server{t: t, script: Script{}, links: map[*link]bool{}, changed: make(chan struct{})}
	for _, script := range scripts {
		maps.Copy(s.script, script)
	}
	t.Cleanup(func() {
		for _, l := range s.present() {
			l.close()
			<-l.served
		}
	})
	return s
}

// Connect implements [mcp.Transport].
func (s *Server) Connect(context.Context) (mcp.Conn, error) {
	ours, theirs := pipe()
	l, err := s.accept(ours)
	if err != nil {
		return nil, err
	}
	go l.serve()
	return theirs, nil
}

// Serve makes one connection of t and serves it until it or ctx ends. It fits
// the Serve field of the Pipe of package transport.
func (s *Server) Serve(ctx context.Context, t mcp.Transport) error {
	conn, err := t.Connect(ctx)
	if err != nil {
		return err
	}
	l, err := s.accept(conn)
	if err != nil {
		_ = conn.Close()
		return err
	}
	defer context.AfterFunc(ctx, l.close)()
	l.serve()
	return nil
}

func (s *Server) accept(conn mcp.Conn) (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	if s.down != nil {
		return nil, s.down
	}
	l := newLink(s, conn, s.made)
	s.links[l] = true
	return l, nil
}

// Down makes further connections fail with err, or succeed again if err is nil.
// Those that there are live on.
func (s *Server) Down(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

// Disconnect ends all present connections, as the server's death would.
func (s *Server) Disconnect() {
	for _, l := range s.present() {
		l.close()
	}
}

// Notify sends a notification to all present connections. Params are JSON, or
// empty.
func (s *Server) Notify(method, params string) {
	for _, l := range s.present() {
		(&Call{link: l}).Notify(method, params)
	}
}

// Connections returns how often a client connected, or tried to.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

// Received returns the messages of a method that have come, of all connections.
// With an empty method it returns those of all methods.
func (s *Server) Received(method string) []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.receivedLocked(method)
}

func (s *Server) receivedLocked(method string) []Received {
	return slices.DeleteFunc(slices.Clone(s.received), func(r Received) bool {
		return method != "" && r.Method != method
	})
}

// Await waits for the n-th message of a method, counted from 1, and returns it.
// It fails the test if that takes more than a minute.
func (s *Server) Await(method string, n int) Received {
	s.t.Helper()
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	for {
		s.mu.Lock()
		all, changed := s.receivedLocked(method), s.changed
		s.mu.Unlock()
		if len(all) >= n {
			return all[n-1]
		}
		select {
		case <-changed:
		case <-timer.C:
			s.t.Fatalf("the client sent %d messages %s, want %d", len(all), method, n)
		}
	}
}

func (s *Server) record(r *Received) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Number = len(s.receivedLocked(r.Method)) + 1
	s.received = append(s.received, *r)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) present() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.links))
}

func (s *Server) forget(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, l)
}
