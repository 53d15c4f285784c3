package transport

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A mailbox is where a connection puts what the server sends beside answers to calls: it
// goes to the functions given to Receive or, without them, waits for Read.
type mailbox struct {
	start func() // called when it is known where messages go: reading may begin; may be nil
	once  sync.Once
	// The following are set once.
	message func(jsonrpc.Message, int64)
	inbox   *inbox // for Read; nil after Receive

	mu    sync.Mutex // guards the following
	ended func(error)
	over  bool
	err   error // why the connection has ended
}

// Receive implements mcp.Caller.
func (b *mailbox) Receive(message func(m jsonrpc.Message, call int64), ended func(err error)) {
	b.once.Do(func() { b.to(nil, message, ended) })
}

// keep has messages wait for Read, unless Receive was called.
func (b *mailbox) keep() {
	b.once.Do(func() {
		in := newInbox()
		b.to(in, nil, in.end)
	})
}

func (b *mailbox) to(in *inbox, message func(jsonrpc.Message, int64), ended func(error)) {
	b.inbox, b.message = in, message
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
	if b.inbox == nil {
		return nil, errors.New("transport: Read after Receive: messages go to the function that it was given")
	}
	return b.inbox.read(ctx)
}

// deliver puts a message in, that came with the answer of a call or, with 0, by itself.
// Where nothing takes it, it waits until ctx ends.
func (b *mailbox) deliver(ctx context.Context, m jsonrpc.Message, call int64) {
	if b.inbox != nil {
		b.inbox.put(ctx, m)
	} else {
		b.message(m, call)
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

// inboxSize is how many messages wait for Read before the connection is read no further.
const inboxSize = 64

// An inbox holds messages on their way to Read.
type inbox struct {
	messages chan jsonrpc.Message
	ended    chan struct{} // closed by end
	err      error         // why it ended; read after ended is closed
}

func newInbox() *inbox {
	return &inbox{messages: make(chan jsonrpc.Message, inboxSize), ended: make(chan struct{})}
}

// put queues m, unless the end or that of ctx comes first.
func (b *inbox) put(ctx context.Context, m jsonrpc.Message) {
	select {
	case b.messages <- m:
	case <-b.ended:
	case <-ctx.Done():
	}
}

// end makes reads fail with err once the queued messages are read. It is called once.
func (b *inbox) end(err error) {
	b.err = err
	close(b.ended)
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
