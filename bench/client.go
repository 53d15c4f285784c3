package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/benchprocess"
)

// roleClient makes a process the home of one client.
const roleClient = "client"

// An order tells a client's process what to do, as JSON. Its answer is a cell, as JSON.
type order struct {
	Peer, Work, CPUProfile string
	Slot                   time.Duration
	Servers                int // connected at once where many are
	Procs                  int
}

// grace is how much longer than its slot a piece of work may take.
const grace = 30 * time.Second

func runClient(told string) error {
	var o order
	if err := json.Unmarshal([]byte(told), &o); err != nil {
		return err
	}
	runtime.GOMAXPROCS(o.Procs)
	if o.CPUProfile != "" {
		f, err := os.Create(o.CPUProfile)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	c, err := newClient(o.Peer, o.Procs)
	if err != nil {
		return err
	}
	got, err := c.do(o)
	if err = errors.Join(err, c.close()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}

// A client is one peer in its process. It keeps a session for each link.
type client struct {
	dialer
	program  string // this one, to be run as a server
	server   serverSpec
	url      string // of the server over HTTP, if it runs
	stop     func() error
	sessions map[string]session // by link
}

func newClient(peer string, procs int) (*client, error) {
	d, err := dialerOf(peer)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	return &client{dialer: d, program: program, server: serverSpec{Procs: procs}, sessions: map[string]session{}}, err
}

// do does the work of an order, unless the client has no way to. What may be kept, such as
// connections and buffers, is there before: the work is done once for nothing.
func (c *client) do(o order) (cell, error) {
	w, err := workOf(o.Work)
	if err != nil {
		return cell{}, err
	}
	ctx, stop := context.WithTimeout(context.Background(), o.Slot+grace)
	defer stop()
	// The floor, or a client with a fault, may not look at its context.
	stuck := time.AfterFunc(o.Slot+2*grace, func() {
		fmt.Fprintf(os.Stderr, "bench: %s does not end\n", o.Work)
		os.Exit(1)
	})
	defer stuck.Stop()
	if w.link == linkRegistry && c.dialer.registry == nil {
		return cell{}, nil
	}
	c.server.Tools = toolCount
	if w.fresh {
		c.server.Tools = fewTools
	}
	w.servers = o.Servers
	if !w.fresh {
		if _, err := w.do(c, ctx, w, o.Slot/5); err != nil {
			return cell{}, err
		}
	}
	return w.do(c, ctx, w, o.Slot)
}

// dial makes a session over a link.
func (c *client) dial(ctx context.Context, link string) (session, error) {
	if link == linkStdio || link == linkRegistry {
		s, err := c.dialer.stdio(ctx, c.program, c.server.args(false))
		if err != nil || link == linkStdio {
			return s, err
		}
		r, err := c.dialer.registry(ctx, s)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return r, nil
	}
	if c.url == "" {
		var err error
		if c.url, c.stop, err = benchprocess.Start(c.server.args(true)...); err != nil {
			return nil, err
		}
	}
	url := c.url + "/" + link
	if link == linkListen {
		return c.dialer.listen(ctx, url)
	}
	return c.dialer.http(ctx, url)
}

// session returns the session over a link, made when it is first needed. A
// session outlives the work that it was made for, and so does its context.
func (c *client) session(ctx context.Context, link string) (session, error) {
	if s := c.sessions[link]; s != nil {
		return s, nil
	}
	s, err := c.dial(context.WithoutCancel(ctx), link)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	c.sessions[link] = s
	return s, nil
}

func (c *client) close() error {
	var errs []error
	for _, s := range c.sessions {
		errs = append(errs, s.Close())
	}
	if c.stop != nil {
		errs = append(errs, c.stop())
	}
	return errors.Join(errs...)
}
