package gateway

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// ServeStdio serves one client that writes its messages into in and reads those of the gateway from
// out, one a line, as a program does for the client that has started it. It speaks all
// revisions. Path is that of the view, such as /mcp, /p/office/mcp or /s/github/mcp/search; empty means /mcp.
//
// It returns nil when in ends and what was asked for is answered, or 3 seconds later: then it is canceled, since the
// client may be gone. It returns as well when ctx ends, the gateway is closed, or
// out cannot be written. A read of in, and a write to out, may go on until they return something.
func (g *Gateway) ServeStdio(ctx context.Context, path string, in io.Reader, out io.Writer) error {
	switch {
	case g.host == nil:
		return ErrClosed
	case nils.Is(in) || nils.Is(out):
		return errors.New("gateway: there is nothing to read from, or to write to")
	}
	v, rest := g.viewOf(cmp.Or(path, "/mcp"))
	rest, asked, err := g.splitMode(rest, "")
	switch {
	case err != nil:
		return fmt.Errorf("gateway: the path %q: %w", path, err)
	case v == nil || rest != "/mcp" && rest != "":
		return errors.New("gateway: there is no view at " + path)
	}
	if err := g.begin(""); err != nil {
		return err
	}
	defer g.end("", 0)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard, hangUp := context.WithCancel(ctx)
	defer hangUp()
	c := &pipe{shown: shown{v, g.full}, asked: asked, heard: heard, out: stream.New(""), room: make(chan struct{}, 1)}
	reader, _ := c.out.Attach(-1)
	defer c.out.Detach(reader)
	read := make(chan error, 1)
	lines := make(chan []byte)
	go message.ReadLines(in, g.limits.MaxMessage, lines, read, ctx.Done())
	written := make(chan error, 1)
	readable, lose := context.WithCancel(ctx)
	go func() {
		defer close(written)
		written <- c.write(out, reader)
		lose()
	}()
	defer func() {
		c.close()
		c.work.Wait()
		c.out.End()
		select {
		case <-written:
		case <-ctx.Done(): // the client may never read the rest
		case <-g.ctx.Done():
		}
	}()
	for {
		next := lines
		if c.out.Size() >= c.gateway.limits.MaxWaiting {
			next = nil // the client has to read first
		}
		select {
		case line := <-next:
			c.take(ctx, line)
		case <-c.room:
		case err := <-read:
			hangUp()
			ctx, stop := context.WithTimeout(readable, c.gateway.limits.HangUp)
			defer stop()
			c.drain(ctx)
			return err
		case err := <-written:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-g.serving.Done():
			c.drain(ctx)
			return nil
		}
	}
}

// A pipe is a client that is connected by two streams of bytes.
type pipe struct {
	shown
	asked    string          // the mode that the path names, or none
	heard    context.Context // ends when the client writes no more: what listens for it ends then
	out      *stream.Stream
	room     chan struct{}  // capacity 1: something was written
	session  *clientSession // after initialize
	work     sync.WaitGroup
	underWay // of revision 2026-07-28
}

// write writes what the gateway has to say, until the stream ends.
func (c *pipe) write(out io.Writer, reader int) error {
	w := bufio.NewWriterSize(out, 64<<10)
	for range c.out.Ready {
		m, _, ok, over := c.out.Take(reader)
		for ; ok; m, _, ok, over = c.out.Take(reader) {
			_, _ = w.Write(append(m.AppendTo(w.AvailableBuffer()), '\n')) // Flush says what is wrong
			select {
			case c.room <- struct{}{}:
			default:
			}
		}
		if err := w.Flush(); err != nil || over {
			return err
		}
	}
	return nil
}

// drain waits for the requests under way, which ctx ends.
func (c *pipe) drain(ctx context.Context) {
	defer context.AfterFunc(ctx, c.close)()
	c.work.Wait()
}

// close ends all that is done for the client.
func (c *pipe) close() {
	if c.session != nil {
		c.gateway.endSession(c.session.id)
		c.session.end() // if the gateway has forgotten it already
	}
	c.withdrawAll()
}

// take takes a message of the client.
func (c *pipe) take(ctx context.Context, line []byte) {
	if len(line) == 1 && (line[0] == '\n' || line[0] == '\r') || len(line) == 2 && line[0] == '\r' {
		return
	}
	m, id, failed := message.Read(line)
	modern := jsonscan.Member(m.Params, "_meta", protocol.MetaVersion) != nil
	switch {
	case failed != nil && !m.IsResponse():
		c.out.Answer(message.Response(id, nil, failed))
	case failed != nil:
	case m.IsResponse() || m.ID == nil:
		if c.noted(&m); c.session != nil {
			c.session.took(&m)
		}
	case modern:
		c.serveModern(ctx, &m)
	case m.Method == protocol.Initialize:
		c.initialize(&m)
	case c.session == nil && m.Method == protocol.Ping:
		c.out.Answer(message.Response(m.ID, json.RawMessage(`{}`), nil))
	case c.session == nil && m.Method == protocol.Discover:
		c.out.Answer(message.Response(m.ID, nil, message.InvalidParams("params._meta lacks %s", protocol.MetaVersion)))
	case c.session == nil:
		c.out.Answer(message.Response(m.ID, nil, message.Failure(message.CodeInvalidRequest, "begin with initialize")))
	default:
		c.session.peer.newRequest(&m, message.ParamsOf(m.Params), c.out).respond(ctx, &c.work)
	}
}

// initialize begins the session of the connection.
func (c *pipe) initialize(m *jsonscan.Message) {
	if c.session != nil {
		c.out.Answer(message.Response(m.ID, nil, message.Failure(message.CodeInvalidRequest, "the session has begun")))
		return
	}
	p := c.newPeer(&access.Caller{}, m.Params)
	p.choose(c.asked)
	c.session, _ = c.gateway.addSession(p, c.out)
	c.out.Answer(message.Response(m.ID, c.initializeResult(p.revision), nil))
}

// serveModern answers a request of revision 2026-07-28.
func (c *pipe) serveModern(ctx context.Context, m *jsonscan.Message) {
	r, failed := c.modernRequest(&access.Caller{}, m, c.asked, c.out)
	r.peer.requests = &c.underWay
	switch {
	case failed != nil:
		c.out.Answer(message.Response(m.ID, nil, failed))
	case m.Method == protocol.Listen:
		r.respond(c.heard, &c.work)
	default:
		r.respond(ctx, &c.work)
	}
}
