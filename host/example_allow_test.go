// Examples of allow.go.

//go:build unix

package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
)

// A person is asked about each server that a repository wants to have started.
func ExampleHost_PendingLaunches() {
	ctx := context.Background()
	c, err := config.Parse(ctx, ".mcp.json", []byte(`{"mcpServers": {"notes": {"command": "/opt/notes", "args": ["--dir", "my notes"], "cwd": "/srv"}}}`), &config.Options{Scope: config.ScopeProject})
	if err != nil {
		log.Print(err)
		return
	}
	h := host.New(&host.Options{StateDir: host.NoState})
	defer func() { _ = h.Close() }()
	if _, err := h.Apply(ctx, c); err != nil {
		log.Print(err)
		return
	}
	for _, launch := range h.PendingLaunches() {
		fmt.Println(launch.Source, "wants to start")
		fmt.Println(launch)
	}
	// Output:
	// .mcp.json:1 wants to start
	// cd /srv && /opt/notes --dir 'my notes'
	// # server notes
}

func ExampleHost_AllowLaunch() {
	ctx := context.Background()
	var h *host.Host // of a program with a terminal
	if h == nil {
		return
	}
	answers := bufio.NewScanner(os.Stdin)
	for _, launch := range h.PendingLaunches() {
		fmt.Printf("Start this?\n%s\n", launch)
		if !answers.Scan() {
			return
		}
		decide := h.DenyLaunch
		if answers.Text() == "yes" {
			decide = h.AllowLaunch
		}
		var stale *host.StaleLaunchError
		if err := decide(ctx, "ann", launch.Fingerprint()); errors.As(err, &stale) {
			fmt.Println("It has changed meanwhile.")
		}
	}
}

func ExampleHost_DenyLaunch() {
	ctx := context.Background()
	c, err := config.Parse(ctx, ".mcp.json", []byte(`{"mcpServers": {"notes": {"command": "/opt/notes"}}}`), &config.Options{Scope: config.ScopeProject})
	if err != nil {
		log.Print(err)
		return
	}
	book := consent.New()
	h := host.New(&host.Options{StateDir: host.NoState, Consents: book})
	defer func() { _ = h.Close() }()
	if _, err := h.Apply(ctx, c); err != nil {
		log.Print(err)
		return
	}
	if err := h.DenyLaunch(ctx, "ann", h.PendingLaunches()[0].Fingerprint()); err != nil {
		log.Print(err)
		return
	}
	fmt.Println(len(h.PendingLaunches()), h.Servers()[0].Stage)
	// Output:
	// 0 not_allowed
}
