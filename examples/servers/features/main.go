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
	"slices"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	endpoint = "/mcp"

	// grace is how long requests may take to finish once the server is to end.
	grace = time.Second

	// idleSession is how long a client may be silent before its session ends.
	idleSession = 30 * time.Minute
)

func main() {
	addr := flag.String("http", "", "`address` to listen on for streamable HTTP; without it, standard input and output")
	revision := flag.String("revision", "", "the only `revision` of the protocol to speak; all if left out")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "features: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}
	if *revision != "" && !slices.Contains(mcp.SupportedProtocolVersions(), *revision) {
		fmt.Fprintf(os.Stderr, "features: revision %q is none of %q\n", *revision, mcp.SupportedProtocolVersions())
		os.Exit(2)
	}

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
		Logger: log, SessionTimeout: idleSession, PropagateRequestCancellation: true,
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
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(listener) }()
	fmt.Fprintf(os.Stderr, "listening on http://%s%s\n", listener.Addr(), endpoint)

	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	// Clients hold a stream open for as long as they are connected, so waiting
	// for them has an end.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(ending); err != nil {
		_ = srv.Close()
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
