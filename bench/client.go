package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/benchprocess"
)

// roleClient makes a process the home of one client.
const roleClient = "client"

// An order tells a client's process what to do. Its answer is a cell, as JSON.
type order struct {
	peer, work, cpuProfile string
	slot                   time.Duration
	servers                int // connected at once where many are
	procs                  int
}

// args are the arguments of this program to follow the order.
func (o *order) args() []string {
	return []string{roleClient, "-peer", o.peer, "-work", o.work, "-slot", o.slot.String(), "-servers", strconv.Itoa(o.servers),
		"-procs", strconv.Itoa(o.procs), "-cpuprofile", o.cpuProfile}
}

// grace is how much longer than its slot a piece of work may take.
const grace = 30 * time.Second

func runClient(args []string) error {
	var o order
	flags := flag.NewFlagSet(roleClient, flag.ContinueOnError)
	flags.StringVar(&o.peer, "peer", "", "client")
	flags.StringVar(&o.work, "work", "", "what it does")
	flags.DurationVar(&o.slot, "slot", 0, "for how long")
	flags.IntVar(&o.servers, "servers", manyServers, "servers at once")
	flags.IntVar(&o.procs, "procs", runtime.GOMAXPROCS(0), "GOMAXPROCS")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "", "write a profile of the time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(o.procs)
	if o.cpuProfile != "" {
		f, err := os.Create(o.cpuProfile)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	c, err := newClient(o.peer, o.procs)
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
	return &client{dialer: d, program: program, server: serverSpec{procs: procs}, sessions: map[string]session{}}, err
}

// do does the work of an order, unless the client has no way to. What may be kept, such as
// connections and buffers, is there before: the work is done once for nothing.
func (c *client) do(o order) (cell, error) {
	w, err := workOf(o.work)
	if err != nil {
		return cell{}, err
	}
	ctx, stop := context.WithTimeout(context.Background(), o.slot+grace)
	defer stop()
	// The floor, or a client with a fault, may not look at its context.
	stuck := time.AfterFunc(o.slot+2*grace, func() {
		fmt.Fprintf(os.Stderr, "bench: %s does not end\n", o.work)
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
	w.servers = o.servers
	if !w.fresh {
		if _, err := w.do(c, ctx, w, o.slot/5); err != nil {
			return cell{}, err
		}
	}
	return w.do(c, ctx, w, o.slot)
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
	if c.url == "" {
		var err error
		if c.url, c.stop, err = benchprocess.Start(c.server.args("http")...); err != nil {
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
