package transport

import (
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// inboxSize is how many messages wait for the session to read them before the
// reader of the connection waits too.
const inboxSize = 64

// An inbox holds the control plane's messages on their way to the session.
type inbox struct {
	messages chan jsonrpc.Message
	ended    chan struct{} // closed by end
	once     sync.Once
	err      error // why it ended; read after ended is closed
}

func newInbox() *inbox {
	return &inbox{messages: make(chan jsonrpc.Message, inboxSize), ended: make(chan struct{})}
}

// put queues m and reports whether it did: not after the end, not after ctx.
func (b *inbox) put(ctx context.Context, m jsonrpc.Message) bool {
	select {
	case b.messages <- m:
		return true
	case <-b.ended:
		return false
	case <-ctx.Done():
		return false
	}
}

// offer queues m if there is room, and reports whether it did.
func (b *inbox) offer(m jsonrpc.Message) bool {
	select {
	case b.messages <- m:
		return true
	default:
		return false
	}
}

// end makes reads fail with err once the queued messages are read.
// Only the first call counts.
func (b *inbox) end(err error) {
	b.once.Do(func() {
		if err == nil {
			err = io.EOF
		}
		b.err = err
		close(b.ended)
	})
}

func (b *inbox) read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-b.messages:
		return m, nil
	default:
	}
	select {
	case m := <-b.messages:
		return m, nil
	case <-b.ended:
		return nil, b.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
