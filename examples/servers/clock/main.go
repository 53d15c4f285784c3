// Clock is an MCP server over streamable HTTP that tells the time, by the tool now.
//
// When the server is ready it prints one line to standard output, so that a parent process can read the address:
//
//	listening on http://127.0.0.1:PORT/mcp
//
// The log goes to standard error. The server ends on an interrupt or a termination signal, whatever its clients do.
//
// Usage:
//
//	clock [-addr 127.0.0.1:0] [-until-stdin-closes]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // the zones, also where the system has none

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const endpoint = "/mcp"

type (
	nowInput struct {
		Zone string `json:"zone,omitempty" jsonschema:"IANA time zone such as Europe/Paris; UTC if left out"`
	}
	nowOutput struct {
		Time    string `json:"time" jsonschema:"RFC 3339, to the second"`
		Zone    string `json:"zone"`
		Weekday string `json:"weekday"`
	}
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "`address` to listen on; port 0 picks a free one")
	lifeline := flag.Bool("until-stdin-closes", false, "end when standard input closes, as it does when the parent process dies")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *lifeline {
		go func() {
			defer stop()
			_, _ = io.Copy(io.Discard, os.Stdin)
		}()
	}
	if err := run(ctx, *addr); err != nil {
		fmt.Fprintf(os.Stderr, "clock: %v\n", err)
		os.Exit(1)
	}
}

// run serves on addr until ctx ends.
func run(ctx context.Context, addr string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	// A streamed answer takes as long as its tool, so neither WriteTimeout nor
	// ReadTimeout fits: each would cut a stream that is in order.
	srv := &http.Server{Handler: newHandler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	// Clients hold a stream open for as long as they are connected, so nothing waits for them.
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	fmt.Printf("listening on http://%s%s\n", listener.Addr(), endpoint)
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newHandler returns the endpoint, closed to web pages of other origins. The
// SDK refuses foreign Host headers on loopback by itself.
func newHandler() http.Handler {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s := mcp.NewServer(&mcp.Implementation{Name: "clock", Title: "Clock", Version: "1.0.0"}, &mcp.ServerOptions{
		Logger:       log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	mcp.AddTool(s, &mcp.Tool{
		Name: "now", Title: "Tell the time", Description: "Return the time of day in a time zone.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)},
	}, now)
	mux := http.NewServeMux()
	mux.Handle(endpoint, mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Logger: log, SessionTimeout: 30 * time.Minute, PropagateRequestCancellation: true},
	))
	return http.NewCrossOriginProtection().Handler(mux)
}

func now(_ context.Context, _ *mcp.CallToolRequest, in nowInput) (*mcp.CallToolResult, nowOutput, error) {
	zone, err := time.LoadLocation(in.Zone)
	if err != nil {
		return nil, nowOutput{}, fmt.Errorf("there is no time zone %q; say it as the tz database does, such as Europe/Paris", in.Zone)
	}
	t := time.Now().In(zone)
	return nil, nowOutput{Time: t.Format(time.RFC3339), Zone: zone.String(), Weekday: t.Weekday().String()}, nil
}
