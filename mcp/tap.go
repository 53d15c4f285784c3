package mcp

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A tap takes what the server sends unasked, its requests and notifications, makes the
// handshake, and keeps the reason for which the connection ended. It owns the goroutines
// that answer the server's requests.
type tap struct {
	client  *Client
	tracing *tracing // the client's
	conn    Caller

	closed  atomic.Bool   // by finish
	ended   chan struct{} // closed when the connection cannot be read any more
	err     error         // why; read after ended is closed
	ours    bool          // because of finish; read after ended is closed
	reading context.Context
	stop    context.CancelFunc
	ending  sync.Once
	once    sync.Once
	wg      sync.WaitGroup         // what goes started
	changes atomic.Int64           // announcements of other tools
	listed  atomic.Int64           // of those, how many the list of tools takes account of
	mended  atomic.Int64           // times that announcements may have been missed
	life    atomic.Pointer[life]   // nil during the handshake
	modern  atomic.Bool            // revision 2026-07-28 is spoken
	spoken  atomic.Pointer[string] // the revision; nil during the handshake

	handshaking atomic.Int64 // id of the handshake's last request

	// The following belong to the handshake.
	unanswered bool // discover was sent and not answered in time
	late       bool // but with a result later

	allowance allowance

	taking sync.Mutex // held while a message is taken

	mu     sync.Mutex // guards the following, and orders wg.Add before wg.Wait
	waited bool       // wait was called

	serving  map[jsonrpc.ID]*service // requests of the server
	granting int                     // server requests under way
	granted  time.Time               // when the last one ended

	listener *listener // nil if the server announces nothing, or in its own way
}

func newTap(c *Client, conn Conn) *tap {
	reading, stop := context.WithCancel(context.Background())
	t := &tap{
		client:  c,
		tracing: c.tracing,
		conn:    CallerOf(conn),
		serving: make(map[jsonrpc.ID]*service),
		ended:   make(chan struct{}),
		reading: reading,
		stop:    stop,
	}
	t.conn.Receive(t.take, t.end)
	return t
}

// end notes that the connection has ended, and why. Only the first call counts.
func (t *tap) end(err error) {
	t.ending.Do(func() {
		t.err = err
		t.ours = t.closed.Load()
		close(t.ended)
		t.client.tell(0)
	})
}

// goes runs f on a goroutine that wait waits for. It does nothing, and reports
// so, once wait was called.
func (t *tap) goes(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waited {
		return false
	}
	t.wg.Go(f)
	return true
}

// wait waits for the goroutines of the tap, after finish.
func (t *tap) wait() {
	t.mu.Lock()
	t.waited = true
	t.mu.Unlock()
	t.wg.Wait()
}

// blame returns what is behind an error of the handshake: if the connection ended, why.
func (t *tap) blame(ctx context.Context, err error) error {
	if t.conn.Info().Err != nil {
		select {
		case <-t.ended: // soon
		case <-ctx.Done():
		}
	}
	return cmp.Or(t.died(), err)
}

// finish closes the connection, as long as that takes.
func (t *tap) finish() {
	t.once.Do(func() {
		t.closed.Store(true)
		_ = t.conn.Close()
		t.stop()
	})
}

// died returns why the connection ended if that was not by finish, or nil.
func (t *tap) died() error {
	select {
	case <-t.ended:
		if !t.ours {
			return t.err
		}
	default:
	}
	return nil
}

// over reports whether the connection has ended, even if the reader has not
// seen it yet.
func (t *tap) over() bool {
	select {
	case <-t.ended:
		return true
	default:
	}
	return t.conn.Info().Err != nil
}
