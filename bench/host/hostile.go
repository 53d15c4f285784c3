package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// manyTools is a server in this process with so many tools. Its starts are told.
func manyTools(name string, tools int, started chan<- string) mcp.Transport {
	return &transport.Pipe{Serve: func(ctx context.Context, t mcp.Transport) error {
		started <- name
		s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
		for i := range tools {
			s.AddTool(&sdk.Tool{
				Name:        fmt.Sprintf("tool%02d", i),
				Description: "Reads the things of a place, and returns them in the order in which they were made.",
				InputSchema: map[string]any{"type": "object", "properties": map[string]any{
					"place": map[string]any{"type": "string", "description": "where the things are"},
					"limit": map[string]any{"type": "integer", "minimum": 1},
				}},
			}, nil)
		}
		return s.Run(ctx, t)
	}}
}

const neighbours = 99

// A neighbour is a hostile server.
type neighbour struct {
	name  string
	serve func(ctx context.Context, s *sdk.Server, t mcp.Transport) error
}

func hostiles() []neighbour {
	return []neighbour{
		{"announces changes of its tools as fast as it can", func(ctx context.Context, s *sdk.Server, t mcp.Transport) error {
			return beside(ctx, s, t, func(i int) {
				s.AddTool(&sdk.Tool{Name: "late", Description: fmt.Sprint(i), InputSchema: map[string]any{"type": "object"}}, nil)
				time.Sleep(100 * time.Microsecond)
			})
		}},
		{"logs as fast as it can", func(ctx context.Context, s *sdk.Server, t mcp.Transport) error {
			text := strings.Repeat("x", 1000)
			return beside(ctx, s, t, func(int) {
				for session := range s.Sessions() {
					_ = session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: "none", Message: text})
				}
			})
		}},
		{"dies again and again", func(context.Context, *sdk.Server, mcp.Transport) error { return errors.New("dead") }},
		{"never answers", func(ctx context.Context, _ *sdk.Server, _ mcp.Transport) error {
			<-ctx.Done()
			return nil
		}},
	}
}

// beside does something again and again while a server runs.
func beside(ctx context.Context, s *sdk.Server, t mcp.Transport, f func(i int)) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			f(i)
		}
	})
	err := s.Run(ctx, t)
	cancel()
	wg.Wait()
	return err
}

// measureHostile calls the tools of 99 servers, with a hostile one beside them and with
// a good one in its place, in turns. The calls come at a steady rate, so that the
// hostile server takes no more of the processor than it can get besides.
func measureHostile(ctx context.Context, o *options) ([]row, error) {
	var rows []row
	for _, n := range hostiles() {
		var p99, good []float64
		var ratio []float64
		for range o.rounds {
			without, err := neighbourhood(ctx, nil)
			if err != nil {
				return nil, err
			}
			with, err := neighbourhood(ctx, n.serve)
			if err != nil {
				return nil, fmt.Errorf("beside one that %s: %w", n.name, err)
			}
			good, p99, ratio = append(good, without), append(p99, with), append(ratio, 100*(with/without-1))
		}
		rows = append(rows,
			row{fmt.Sprintf("p99 of calls at %d servers, beside one that %s", neighbours, n.name), p99, "ms", ""},
			row{"the same beside a good one", good, "ms", ""},
			row{"more than that", ratio, "%", "< 10 %"})
	}
	return rows, nil
}

// neighbourhood returns the 99th percentile of the time of calls, in ms.
func neighbourhood(ctx context.Context, hostile func(context.Context, *sdk.Server, mcp.Transport) error) (p99 float64, err error) {
	pairs := append(entries(neighbours, func(int) string { return `{"command": "x"}` }), "hostile", `{"command": "x", "connectTimeoutSeconds": 1}`)
	c, err := parse(pairs...)
	if err != nil {
		return 0, err
	}
	h := host.New(&host.Options{StateDir: host.NoState, Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
		s := newServer(e.Name)
		if e.Name == "hostile" && hostile != nil {
			return &transport.Pipe{Serve: func(ctx context.Context, t mcp.Transport) error { return hostile(ctx, s, t) }}, nil
		}
		return &transport.Pipe{Serve: s.Run}, nil
	}})
	defer func() { err = errors.Join(err, h.Close()) }()
	if _, err := h.Apply(ctx, c); err != nil {
		return 0, err
	}
	const callers, each = 8, 400
	times := make([][]time.Duration, callers)
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for k := range callers {
		wg.Go(func() {
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for i := range each {
				<-tick.C
				begin := time.Now()
				if _, err := h.Registry().Call(ctx, fmt.Sprintf("s%03d__echo", (k*13+i)%neighbours), nil); err != nil {
					errs[k] = err
					return
				}
				times[k] = append(times[k], time.Since(begin))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(times...)
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	slices.Sort(all)
	return millis(all[len(all)*99/100]), nil
}
