package transport

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// inboxSize is how many messages wait for Read before the connection is read no further.
const inboxSize = 64

// A mailbox is where a connection puts what the server sends beside answers to calls: it
// goes to the functions given to Receive or, without them, waits for Read.
type mailbox struct {
	start func() // called when it is known where messages go: reading may begin; may be nil
	once  sync.Once
	// The following are set once.
	message func(jsonrpc.Message, int64) // nil: messages wait for Read
	waiting chan jsonrpc.Message         // for Read; nil after Receive
	gone    chan struct{}                // closed when no message follows those that wait

	mu    sync.Mutex // guards the following
	ended func(error)
	over  bool
	err   error // why the connection has ended
}

// Receive implements mcp.Caller.
func (b *mailbox) Receive(message func(m jsonrpc.Message, call int64), ended func(err error)) {
	b.once.Do(func() { b.to(message, ended) })
}

// keep has messages wait for Read, unless Receive was called.
func (b *mailbox) keep() {
	b.once.Do(func() {
		b.waiting, b.gone = make(chan jsonrpc.Message, inboxSize), make(chan struct{})
		b.to(nil, func(error) { close(b.gone) })
	})
}

func (b *mailbox) to(message func(jsonrpc.Message, int64), ended func(error)) {
	b.message = message
	b.mu.Lock()
	b.ended = ended
	over, err := b.over, b.err
	b.mu.Unlock()
	if over {
		ended(err)
	} else if b.start != nil {
		b.start()
	}
}

// Read implements mcp.Conn.
func (b *mailbox) Read(ctx context.Context) (jsonrpc.Message, error) {
	b.keep()
	if b.waiting == nil {
		return nil, errors.New("transport: Read after Receive: messages go to the function that it was given")
	}
	select {
	case m := <-b.waiting:
		return m, nil
	default:
	}
	select {
	case m := <-b.waiting:
		return m, nil
	case <-b.gone:
		return nil, b.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// deliver puts a message in, that came with the answer of a call or, with 0, by itself.
// Where nothing takes it, it waits until ctx ends.
func (b *mailbox) deliver(ctx context.Context, m jsonrpc.Message, call int64) {
	if b.waiting == nil {
		b.message(m, call)
		return
	}
	select {
	case b.waiting <- m:
	case <-b.gone:
	case <-ctx.Done():
	}
}

// end says that no message follows. Only the first call counts.
func (b *mailbox) end(err error) {
	if err == nil {
		err = io.EOF
	}
	b.mu.Lock()
	first := !b.over
	if first {
		b.over, b.err = true, err
	}
	ended := b.ended
	b.mu.Unlock()
	if first && ended != nil {
		ended(err)
	}
}
