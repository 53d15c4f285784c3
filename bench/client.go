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
}

type reply struct {
	Cell  cell   `json:"cell"`
	Error string `json:"error,omitempty"`
}

// grace is how much longer than its slot a piece of work may take.
const grace = 30 * time.Second

func runClient(args []string) (err error) {
	flags := flag.NewFlagSet(roleClient, flag.ContinueOnError)
	procs := flags.Int("procs", runtime.GOMAXPROCS(0), "GOMAXPROCS")
	cpu := flags.String("cpuprofile", "", "write a profile of the time")
	mem := flags.String("memprofile", "", "write a profile of the allocations")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(*procs)
	if *mem != "" {
		runtime.MemProfileRate = 1 << 10
		defer func() { err = errors.Join(err, writeAllocations(*mem)) }()
	}
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

func writeAllocations(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}

// A client is one peer in its process. It keeps a session for each protocol.
type client struct {
	dialer
	program     string // this one, to be run as a server
	procs       int
	web         *webServer
	stdio, http session
}

func newClient(peer string, procs int) (*client, error) {
	d, err := dialerOf(peer)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	return &client{dialer: d, program: program, procs: procs}, err
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
	if w.list {
		return listFor(ctx, c.dialStdio, o.Slot)
	}
	s, err := c.session(ctx, w.http)
	if err != nil {
		return cell{}, fmt.Errorf("connecting: %w", err)
	}
	return measure(func() (int, error) { return callFor(ctx, s, w, o.Slot) })
}

func (c *client) dialStdio(ctx context.Context) (session, error) {
	return c.dialer.stdio(ctx, c.program, serverArgs("stdio", c.procs))
}

// session returns the session for a protocol, made when it is first needed. A
// session outlives the work that it was made for, and so does its context.
func (c *client) session(ctx context.Context, http bool) (s session, err error) {
	ctx = context.WithoutCancel(ctx)
	switch {
	case !http:
		if c.stdio == nil {
			c.stdio, err = c.dialStdio(ctx)
		}
		return c.stdio, err
	case c.http != nil:
		return c.http, nil
	}
	if c.web == nil {
		if c.web, err = startWebServer(c.program, c.procs); err != nil {
			return nil, err
		}
	}
	c.http, err = c.dialer.http(ctx, c.web.url)
	return c.http, err
}

func (c *client) close() error {
	var errs []error
	for _, s := range []session{c.stdio, c.http} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	if c.web != nil {
		errs = append(errs, c.web.close())
	}
	return errors.Join(errs...)
}
