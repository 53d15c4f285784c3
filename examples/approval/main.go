// Approval is a web page on which you approve the calls of an agent.
//
//	go run ./examples/approval
//
// It prints the address of the page. The agent wants to tidy up a folder: it may
// list the files by itself, but to delete one it needs you. Its model is scripted,
// so that nothing but Go is needed; everything else is as it would be. With -once
// the program ends when the agent is done.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

func main() {
	port := flag.Int("port", 0, "where the page is, on this machine; 0 picks a free one")
	once := flag.Bool("once", false, "end when the agent is done")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, newFolder(), *port, *once); err != nil {
		fmt.Fprintln(os.Stderr, "approval:", err)
		os.Exit(1)
	}
}

// user is the user who is logged in. A program with many takes it from the request.
const user = "you"

// run has the agent work, and serves the page, until ctx ends.
func run(ctx context.Context, out io.Writer, files *folder, port int, once bool) (err error) {
	client := mcp.NewClient("files", &transport.Pipe{Serve: files.server().Run}, nil)
	defer func() { err = errors.Join(err, client.Close()) }()
	tools := registry.New(&registry.Options{Approver: policy.Cautious()})
	if err := offer(ctx, tools, client); err != nil {
		return err
	}

	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	log := newTranscript()
	page := newPage(tools, log, listener.Addr().String())
	web := &http.Server{Handler: page.handler(), ReadHeaderTimeout: 5 * time.Second}
	if _, err := fmt.Fprintf(out, "Open %s\n", page.loginURL()); err != nil {
		return errors.Join(err, listener.Close())
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Requests end with the program, also those that wait for something to happen.
	web.BaseContext = func(net.Listener) context.Context { return ctx }
	var running sync.WaitGroup
	var agentErr, webErr error
	running.Go(func() {
		conversation := registry.WithConversation(session.WithUser(ctx, user), "tidying up")
		agentErr = (&agent{tools, log, script()}).work(conversation)
		tools.EndConversation(conversation)
		if once {
			cancel()
		}
	})
	running.Go(func() {
		defer cancel()
		webErr = web.Serve(listener)
	})
	<-ctx.Done()
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer stop()
	err = web.Shutdown(closing)
	running.Wait()
	if errors.Is(webErr, http.ErrServerClosed) {
		webErr = nil
	}
	if errors.Is(agentErr, context.Canceled) {
		agentErr = nil
	}
	return errors.Join(err, webErr, agentErr)
}

// offer puts the tools of a server into the registry. The server is ours, so the
// policy may believe what it says of its tools.
func offer(ctx context.Context, r *registry.Registry, client *mcp.Client) error {
	listed, err := client.Tools(ctx)
	if err != nil {
		return err
	}
	var tools []registry.Tool
	for _, t := range listed {
		tools = append(tools, registry.Remote("files", t, client.CallTool))
	}
	_, err = r.Replace(registry.Server{Name: "files", Trusted: true}, tools)
	return err
}
