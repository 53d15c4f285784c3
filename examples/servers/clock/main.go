// Clock is an MCP server over streamable HTTP that tells the time.
//
// It offers the tools now, zones and countdown; countdown reports progress
// while it runs. When the server is ready it prints one line to standard
// output, so that a parent process can read the address:
//
//	listening on http://127.0.0.1:PORT/mcp
//
// The log goes to standard error. The server ends on an interrupt or a
// termination signal within two seconds, whatever its clients do; -grace says how
// long running calls may take until then.
//
// Usage:
//
//	clock [-addr 127.0.0.1:0] [-until-stdin-closes] [-grace 1s]
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
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "`address` to listen on; port 0 picks a free one")
	lifeline := flag.Bool("until-stdin-closes", false, "end when standard input closes, as it does when the parent process dies")
	grace := flag.Duration("grace", time.Second, "how long requests may take to finish once the server is to end")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "clock: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *lifeline {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			defer cancel()
			io.Copy(io.Discard, os.Stdin)
		}()
	}
	if err := run(ctx, *addr, *grace); err != nil {
		fmt.Fprintf(os.Stderr, "clock: %v\n", err)
		os.Exit(1)
	}
}

// run serves on addr until ctx ends, and lets requests finish for the time of grace.
func run(ctx context.Context, addr string, grace time.Duration) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	handler, err := newHandler(log)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		log.Warn("anybody who reaches this address can use the server", "addr", tcp.String())
	}
	// A streamed answer takes as long as its tool, so neither WriteTimeout nor
	// ReadTimeout fits: each would cut a stream that is in order.
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}

	done := make(chan error, 1)
	go func() { done <- srv.Serve(listener) }()
	fmt.Printf("listening on http://%s%s\n", listener.Addr(), endpoint)

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
		srv.Close()
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
