package transporttest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A faultyStream passes lines between a client and a server, with faults. It
// owns two goroutines, one for each direction.
type faultyStream struct {
	*striker
	client, server halves
	passed         chan struct{} // closed when the last of the server's bytes are
	ended          chan struct{} // closed by end
	once           sync.Once
	wg             sync.WaitGroup
}

func (s *striker) stream(client, server halves) *faultyStream {
	f := &faultyStream{striker: s, client: client, server: server, passed: make(chan struct{}), ended: make(chan struct{})}
	f.wg.Go(f.up)
	f.wg.Go(f.down)
	return f
}

// end ends the connection on both sides.
func (f *faultyStream) end() {
	f.once.Do(func() {
		close(f.ended)
		_ = f.client.Close()
		_ = f.server.Close()
	})
}

// up passes what the client sends. Its end is the end of the server's input.
func (f *faultyStream) up() {
	in := bufio.NewReader(f.client)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			_ = f.server.WriteCloser.Close()
			return
		}
		switch fault, _ := f.request(line); fault.Kind {
		case FaultRefuse:
			f.end()
			return
		case FaultDelay:
			timer := time.NewTimer(fault.Delay)
			select {
			case <-timer.C:
			case <-f.ended:
				timer.Stop()
				return
			}
		}
		if _, err := f.server.Write(line); err != nil {
			return
		}
	}
}

// down passes what the server sends.
func (f *faultyStream) down() {
	defer close(f.passed)
	in := bufio.NewReader(f.server)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			_, _ = f.client.Write(line)
			return
		}
		d := f.answer(line).damage(line, "garbage\n")
		if _, err := io.Copy(f.client, &faultyBody{d}); d.over {
			f.end()
			return
		} else if err != nil {
			return
		}
	}
}

// serve returns a function for Pipe.Serve that has faults between the pipe and
// the given one.
func (s *striker) serve(serve func(context.Context, mcp.Transport) error) func(context.Context, mcp.Transport) error {
	return func(ctx context.Context, t mcp.Transport) error {
		pipe, ok := t.(*sdk.IOTransport)
		if !ok || serve == nil {
			return fmt.Errorf("transporttest: no way for faults into a %T", t)
		}
		near, far := net.Pipe()
		f := s.stream(halves{pipe.Reader, pipe.Writer}, halves{near, near})
		err := serve(ctx, &sdk.IOTransport{Reader: far, Writer: far})
		_ = far.Close()
		<-f.passed
		f.end()
		f.wg.Wait()
		return err
	}
}

// program returns a function for Pipe.Serve that runs a program as the server.
func program(c *transport.Command) func(context.Context, mcp.Transport) error {
	return func(ctx context.Context, t mcp.Transport) error {
		cmd := exec.CommandContext(ctx, c.Path, c.Args...)
		cmd.Dir, cmd.Env, cmd.Stderr = c.Dir, append(os.Environ(), c.Env...), os.Stderr
		pipe := t.(*sdk.IOTransport) // as serve has made it
		cmd.Stdout = pipe.Writer
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		go func() { // until pipe is closed: what the program does not read any more is not waited for
			_, _ = io.Copy(in, pipe.Reader)
			_ = in.Close()
		}()
		return cmd.Run()
	}
}

// halves are what is read and what is written of one connection.
type halves struct {
	io.ReadCloser
	io.WriteCloser
}

// Close implements io.Closer.
func (h halves) Close() error { return errors.Join(h.WriteCloser.Close(), h.ReadCloser.Close()) }
