// Features is an MCP server that uses every feature of the protocol once, in a
// way to copy from: the tools ask the user, the client's model and the client,
// report progress, log, and run as tasks of revision 2026-07-28; beside them are resources that can be
// subscribed to, a prompt, and completion.
//
// It speaks all revisions of the protocol, over standard input and output or
// over streamable HTTP. With -http it prints one line to standard error when it
// is ready:
//
//	listening on http://127.0.0.1:PORT/mcp
//
// Over standard input and output it ends with status 0 when its input closes.
//
// Usage:
//
//	features [-http 127.0.0.1:0] [-revision 2025-11-25]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const endpoint = "/mcp"

func main() {
	addr := flag.String("http", "", "`address` to listen on for streamable HTTP; without it, standard input and output")
	revision := flag.String("revision", "", "the only `revision` of the protocol to speak; all if left out")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *revision); err != nil {
		fmt.Fprintf(os.Stderr, "features: %v\n", err)
		os.Exit(1)
	}
}

// run serves until standard input closes or ctx ends; both are a normal end.
func run(ctx context.Context, addr, revision string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	accounts, err := openAccounts()
	if err != nil {
		return err
	}
	defer accounts.close()
	jobs := newTasks("research", "publish")
	defer jobs.close()
	s := newServer(accounts, jobs, revision, log)
	if addr != "" {
		return serveHTTP(ctx, addr, newHandler(s, log))
	}
	err = s.Run(ctx, &mcp.StdioTransport{})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// newHandler returns the endpoint, closed to web pages of other origins. The
// revisions without sessions and those with them need a handler each.
func newHandler(s *mcp.Server, log *slog.Logger) http.Handler {
	of := func(*http.Request) *mcp.Server { return s }
	sessionless := mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{
		Logger: log, Stateless: true, PropagateRequestCancellation: true,
	})
	sessions := mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{
		Logger: log, SessionTimeout: 30 * time.Minute, PropagateRequestCancellation: true,
	})
	mux := http.NewServeMux()
	mux.HandleFunc(endpoint, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= firstModern {
			sessionless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(mux)
}

// serveHTTP serves on addr until ctx ends.
func serveHTTP(ctx context.Context, addr string, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	// A streamed answer takes as long as its tool, so neither WriteTimeout nor
	// ReadTimeout fits: each would cut a stream that is in order.
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	// Clients hold a stream open for as long as they are connected, so nothing waits for them.
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	fmt.Fprintf(os.Stderr, "listening on http://%s%s\n", listener.Addr(), endpoint)
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
