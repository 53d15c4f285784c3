package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

// roleClient makes a process the home of one client.
const roleClient = "client"

// An order tells a client's process to do some work for a while; it is answered
// by a reply. Both are lines of JSON.
type order struct {
	Work string        `json:"work"`
	Slot time.Duration `json:"slot"` // in nanoseconds
	// Servers is how many are connected at once where many are.
	Servers int `json:"servers"`
}

type reply struct {
	Cell  cell   `json:"cell"`
	Error string `json:"error,omitempty"`
}

// grace is how much longer than its slot a piece of work may take.
const grace = 30 * time.Second

func runClient(args []string) error {
	flags := flag.NewFlagSet(roleClient, flag.ContinueOnError)
	procs := flags.Int("procs", runtime.GOMAXPROCS(0), "GOMAXPROCS")
	cpu := flags.String("cpuprofile", "", "write a profile of the time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(*procs)
	if *cpu != "" {
		f, err := os.Create(*cpu)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	c, err := newClient(flags.Arg(0), *procs)
	if err != nil {
		return err
	}
	return errors.Join(c.obey(os.Stdin, os.Stdout), c.close())
}

// A client is one peer in its process. It keeps a session for each link.
type client struct {
	dialer
	program  string // this one, to be run as a server
	server   serverSpec
	web      *webServer
	sessions map[string]session // by link
}

func newClient(peer string, procs int) (*client, error) {
	d, err := dialerOf(peer)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	return &client{dialer: d, program: program, server: serverSpec{procs: procs}, sessions: map[string]session{}}, err
}

// obey follows the orders of in until it ends.
func (c *client) obey(in io.Reader, out io.Writer) error {
	orders, replies := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var r reply
		var err error
		if r.Cell, err = c.do(o); err != nil {
			r.Error = err.Error()
		}
		if err := replies.Encode(r); err != nil {
			return err
		}
	}
}

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
	c.server.tools = toolCount
	if w.fresh {
		c.server.tools = fewTools
	}
	w.servers = o.Servers
	return w.do(c, ctx, w, o.Slot)
}

// dial makes a session over a link.
func (c *client) dial(ctx context.Context, link string) (session, error) {
	if link == linkStdio || link == linkRegistry {
		s, err := c.dialer.stdio(ctx, c.program, c.server.args("stdio"))
		if err != nil || link == linkStdio {
			return s, err
		}
		r, err := c.dialer.registry(ctx, s)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return r, nil
	}
	if c.web == nil {
		var err error
		if c.web, err = startWebServer(c.program, c.server); err != nil {
			return nil, err
		}
	}
	url := c.web.url + "/" + link
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
	if c.web != nil {
		errs = append(errs, c.web.close())
	}
	return errors.Join(errs...)
}
