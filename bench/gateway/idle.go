package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/benchprocess"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A weight is what a process holds, and what it has taken.
type weight struct {
	Resident float64 // KB; 0 where the system does not tell
	CPU      float64 // microseconds, since the process began
}

func weigh() weight {
	runtime.GC()
	runtime.GC() // what had a finalizer
	w := weight{Resident: benchprocess.Resident()}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		w.CPU = float64(time.Duration(u.Utime.Nano()+u.Stime.Nano()).Nanoseconds()) / 1e3
	}
	return w
}

// A cost is what one thing of many takes.
type cost struct {
	about, unit string
	value       float64
}

// Bodies of requests to the gateway.
const (
	initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	listenBody     = `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
)

// idleCosts measures what a gateway to a server takes: for a call, when many come at one time,
// and for clients that do nothing.
func idleCosts(server string, o *options) ([]cost, error) {
	ctx := context.Background()
	var costs []cost
	for _, c := range []struct {
		about, unit string
		measure     func() (float64, error)
	}{
		{"a small call, 64 at one time: processor time of the gateway", "µs", func() (float64, error) { return callCost(ctx, server, o.calls) }},
		{"an idle session of a client (2025-11-25)", "KB", func() (float64, error) { return clientCost(ctx, server, o.clients, false, false) }},
		{"the same with a listening stream", "KB", func() (float64, error) { return clientCost(ctx, server, o.clients, false, true) }},
		{"an idle listening stream (2026-07-28)", "KB", func() (float64, error) { return clientCost(ctx, server, o.clients, true, true) }},
	} {
		value, err := c.measure()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.about, err)
		}
		costs = append(costs, cost{c.about, c.unit, value})
	}
	return costs, nil
}

// weightOf asks the gateway at a URL what it holds.
func weightOf(gateway string) (w weight, err error) {
	u, err := url.JoinPath(gateway, "../../../weight")
	if err != nil {
		return w, err
	}
	res, err := http.Get(u)
	if err != nil {
		return w, err
	}
	err = json.NewDecoder(res.Body).Decode(&w)
	return w, errors.Join(err, res.Body.Close())
}

func callCost(ctx context.Context, server string, calls int) (float64, error) {
	gateway, stop, err := benchprocess.Start(roleGateway, server)
	if err != nil {
		return 0, err
	}
	defer stop()
	c := mcp.NewClient("bench", &transport.HTTP{URL: gateway}, nil)
	defer c.Close()
	call := func(n int) error {
		return benchprocess.Together(64, func(int) error {
			for range n {
				if _, err := c.CallTool(ctx, "small", nil, nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := call(10); err != nil { // connections, buffers, caches
		return 0, err
	}
	before, err := weightOf(gateway)
	if err != nil {
		return 0, err
	}
	each := max(1, 10*calls/64)
	if err := call(each); err != nil {
		return 0, err
	}
	after, err := weightOf(gateway)
	return (after.CPU - before.CPU) / float64(64*each), err
}

// clientCost returns what a gateway holds for one of many clients that do nothing, each on a
// connection of its own if it listens.
func clientCost(ctx context.Context, server string, clients int, modern, listens bool) (cost float64, err error) {
	gateway, stop, err := benchprocess.Start(roleGateway, server)
	if err != nil {
		return 0, err
	}
	defer stop()
	var streams []net.Conn
	defer func() {
		for _, conn := range streams {
			err = errors.Join(err, conn.Close())
		}
	}()
	enter := func() error {
		header := http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
		method, body := http.MethodPost, listenBody
		if modern {
			header.Set("Mcp-Protocol-Version", mcp.Revision20260728)
			header.Set("Mcp-Method", "subscriptions/listen")
		} else {
			id, err := beginSession(ctx, gateway, header)
			if err != nil || !listens {
				return err
			}
			header.Set("Mcp-Session-Id", id)
			method, body = http.MethodGet, ""
		}
		conn, err := openStream(ctx, method, gateway, body, header)
		if err == nil {
			streams = append(streams, conn)
		}
		return err
	}
	for range clients / 10 { // what is made once
		if err := enter(); err != nil {
			return 0, err
		}
	}
	before, err := weightOf(gateway)
	if err != nil {
		return 0, err
	}
	for range clients {
		if err := enter(); err != nil {
			return 0, err
		}
	}
	after, err := weightOf(gateway)
	return (after.Resident - before.Resident) / float64(clients), err
}

// beginSession initializes a session, and returns its id.
func beginSession(ctx context.Context, gateway string, header http.Header) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway, strings.NewReader(initializeBody))
	if err != nil {
		return "", err
	}
	r.Header = header.Clone()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(io.Discard, res.Body)
	if res.StatusCode != http.StatusOK {
		err = fmt.Errorf("initialize: got status %s", res.Status)
	}
	return res.Header.Get("Mcp-Session-Id"), errors.Join(err, res.Body.Close())
}

// openStream makes a request whose answer does not end, on a connection of its own.
func openStream(ctx context.Context, method, gateway, body string, header http.Header) (net.Conn, error) {
	r, err := http.NewRequestWithContext(ctx, method, gateway, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.URL.Host)
	if err != nil {
		return nil, err
	}
	var line string
	if err = r.Write(conn); err == nil {
		line, err = bufio.NewReaderSize(conn, 64).ReadString('\n')
	}
	if err == nil && !strings.Contains(line, " 200 ") {
		err = fmt.Errorf("a stream: got %q, want status 200", line)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
