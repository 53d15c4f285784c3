package transport

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A stuck is a duplex whose peer never reads. Its writes wait for a deadline.
// resetting, if set, runs when a deadline is taken back.
type stuck struct {
	io.Reader
	mu        sync.Mutex
	past      chan struct{} // closed by a deadline in the past
	resetting func()
}

func (s *stuck) SetWriteDeadline(at time.Time) error {
	if at.IsZero() && s.resetting != nil {
		s.resetting()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.IsZero() {
		s.past = make(chan struct{})
	} else if s.past != nil {
		close(s.past)
		s.past = nil
	}
	return nil
}

func (s *stuck) Write([]byte) (int, error) {
	s.mu.Lock()
	past := s.past
	s.mu.Unlock()
	if past != nil {
		<-past
	}
	return 0, io.ErrClosedPipe
}

func (s *stuck) CloseWrite() error { return nil }

// The stream ends at the moment in which a writer resets the deadline: neither
// may wait for the other.
func TestStreamEndsWhileAWriteBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		d := &stuck{Reader: r}
		s := newStream(d, 0, nil, nil)
		d.resetting = func() {
			d.resetting = nil
			go s.fail(io.ErrUnexpectedEOF)
		}
		_, err := s.Call(context.Background(), "tools/list", nil, nil)
		if mcp.OutcomeOf(err) != mcp.NotSent || err == nil {
			t.Errorf("got %v", err)
		}
		_ = w.Close()
		s.wait()
	})
}

// A frame of which only the newline is missing may have been read as a whole.
func TestStreamMissingNewline(t *testing.T) {
	for cut, want := range map[int]mcp.Outcome{1: mcp.Unknown, 2: mcp.NotSent, 20: mcp.NotSent} {
		r, w := io.Pipe()
		d := &short{stuck{Reader: r}, cut}
		s := newStream(d, 0, nil, nil)
		_, err := s.Call(t.Context(), "tools/list", nil, nil)
		if err == nil || mcp.OutcomeOf(err) != want {
			t.Errorf("%d bytes cut: got %v, want %v: %v", cut, mcp.OutcomeOf(err), want, err)
		}
		_ = w.Close()
		s.wait()
	}
}

// A short writes all but the last bytes of a frame.
type short struct {
	stuck
	cut int
}

func (s *short) Write(p []byte) (int, error) {
	return len(p) - s.cut, io.ErrClosedPipe
}
