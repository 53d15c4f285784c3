package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
)

// servers starts N local servers of five tools each.
func servers() axis {
	return axis{
		name: "servers", counts: "local servers",
		about: "N child processes of five tools each are started together, listed, held, and ended. " +
			"The SDK has a session for each, and lists it once.",
		subjects: []string{hostStdio, sdkStdio}, sizes: []int{1, 4, 16, 64},
		plots:   []string{"open, ms", "resident, MB", "goroutines"},
		measure: measureServers,
	}
}

func measureServers(ctx context.Context, p point) (f figures, err error) {
	f = figures{}
	before := weigh()
	var end func() error
	if f["open, ms"], err = timed(func() (err error) {
		if p.Subject == sdkStdio {
			end, err = openSessions(ctx, p.N)
			return err
		}
		entry, err := stdioEntry()
		if err != nil {
			return err
		}
		entries := make([]string, p.N)
		for i := range entries {
			entries[i] = entry
		}
		h, err := applied(ctx, &host.Options{StateDir: host.NoState}, entries...)
		if err == nil {
			end = h.Close
		}
		return err
	}); err != nil {
		return nil, err
	}
	f.since(before)
	f["close, ms"], err = timed(end)
	return f, err
}

// openSessions connects so many clients of the SDK, each with a server of its own.
func openSessions(ctx context.Context, n int) (end func() error, err error) {
	sessions, errs := make([]*sdk.ClientSession, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { sessions[i], errs[i] = openSession(ctx) })
	}
	wg.Wait()
	end = func() error {
		errs := make([]error, n)
		for i, s := range sessions {
			if s != nil {
				wg.Go(func() { errs[i] = s.Close() })
			}
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

func openSession(ctx context.Context) (*sdk.ClientSession, error) {
	s, err := startSDK(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.ListTools(ctx, nil)
	if err == nil && len(list.Tools) != 5 {
		err = fmt.Errorf("got %d tools, want 5", len(list.Tools))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
