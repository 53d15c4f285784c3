// Command gateway measures what a gateway between a client and a server costs: the time that it
// adds to a call, and what it holds for clients that do nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/benchprocess"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// Roles of a process that this program starts, as its first argument.
const (
	roleServer  = "serve"
	roleStdio   = "stdio"   // the server, over stdio
	roleGateway = "gateway" // the entry of its server follows
)

// options are the flags of the command.
type options struct {
	calls, rounds, clients int
	out, npm               string
}

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case roleServer:
			return benchprocess.Serve(os.Stdin, os.Stdout, "/mcp", server{largeResult()})
		case roleStdio:
			return serveStdio()
		case roleGateway:
			return serveGateway(args[1])
		}
	}
	var o options
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	flags.IntVar(&o.calls, "calls", 2000, "calls for each figure in each round")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds")
	flags.IntVar(&o.clients, "clients", 2000, "clients that do nothing")
	flags.StringVar(&o.out, "out", "", "file for the table; none: it is printed")
	flags.StringVar(&o.npm, "npm", "gateway/npm", "folder with the package of the other gateway; empty: that is not measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	t, err := measure(&o)
	if err != nil {
		return err
	}
	if o.out == "" {
		_, err = os.Stdout.WriteString(t.page())
		return err
	}
	return os.WriteFile(o.out, []byte(t.page()), 0o644)
}

// measure measures everything.
func measure(o *options) (*table, error) {
	server, stop, err := benchprocess.Start(roleServer)
	if err != nil {
		return nil, err
	}
	defer stop()
	through, stop, err := benchprocess.Start(roleGateway, entryOf(server))
	if err != nil {
		return nil, err
	}
	defer stop()
	t := &table{options: o}
	at := func(url string) mcp.Transport { return &transport.HTTP{URL: url} }
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		for _, kind := range kinds() {
			r := row{revision: revision, kind: kind}
			for range o.rounds {
				took, err := medians(revision, kind, o.calls, at(server), at(through))
				if err != nil {
					return nil, err
				}
				r.direct, r.through = append(r.direct, took[0]), append(r.through, took[1])
			}
			t.rows = append(t.rows, r)
		}
	}
	if t.costs, err = idleCosts(entryOf(server), o); err == nil {
		err = measurePeer(t)
	}
	return t, err
}

// entryOf is the entry of a server in a config file.
func entryOf(url string) string { return fmt.Sprintf(`{"url":%q}`, url) }

// serveGateway serves a gateway to the server of an entry, and what the process holds at /weight.
func serveGateway(entry string) (err error) {
	ctx := context.Background()
	c, err := config.Parse(ctx, "mcp.json", fmt.Appendf(nil, `{"mcpServers":{"bench":%s}}`, entry), nil)
	if err != nil {
		return err
	}
	o := &host.Options{StateDir: host.NoState}
	gateway.Prepare(o)
	h := host.New(o)
	defer func() { err = errors.Join(err, h.Close()) }()
	if _, err := h.Apply(ctx, c); err != nil {
		return err
	}
	g, err := gateway.New(h, &gateway.Options{Anonymous: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	mux := http.NewServeMux()
	mux.Handle("/", g)
	mux.HandleFunc("/weight", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(weigh()) // a client that is gone needs none
	})
	return benchprocess.Serve(os.Stdin, os.Stdout, "/s/bench/mcp", mux)
}

// A kind is a kind of call.
type kind struct{ name, tool, args string }

func kinds() []kind {
	return []kind{
		{"small answer", "small", `{"text":"ping"}`},
		{"100 KB answer", "large", `{"text":"ping"}`},
		{"100 KB of arguments", "small", `{"text":` + largeText() + `}`},
	}
}

// medians returns the medians of the times of calls, in microseconds, by each of several ways. The calls alternate, so that
// what else the machine does is in the times of all ways alike.
func medians(revision string, k kind, calls int, ways ...mcp.Transport) ([]float64, error) {
	ctx := context.Background()
	clients, times := make([]*mcp.Client, len(ways)), make([][]time.Duration, len(ways))
	for i, to := range ways {
		clients[i] = mcp.NewClient("bench", to, &mcp.ClientOptions{ProtocolVersion: revision})
		defer clients[i].Close()
		if err := clients[i].Ready(ctx); err != nil {
			return nil, err
		}
	}
	for n := range calls + calls/10 { // the first tenth does not count
		for i, c := range clients {
			begun := time.Now()
			res, err := c.CallTool(ctx, k.tool, json.RawMessage(k.args), nil)
			if err == nil && (res.IsError || len(res.Text()) == 0) {
				err = errors.New(res.Text())
			}
			if err != nil {
				return nil, err
			}
			if n >= calls/10 {
				times[i] = append(times[i], time.Since(begun))
			}
		}
	}
	took := make([]float64, len(ways))
	for i, all := range times {
		slices.Sort(all)
		took[i] = float64(all[len(all)/2].Nanoseconds()) / 1000
	}
	return took, nil
}
