package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// sizes has a server answer with N bytes.
func sizes() axis {
	return axis{
		name: "sizes", counts: "bytes of a result",
		about:    "One caller calls a tool that answers with a text of N bytes, and checks its length.",
		subjects: []string{hostStdio, sdkStdio, hostHTTP, sdkHTTP}, sizes: []int{1_000, 100_000, 1_000_000, 8_000_000, 15_000_000},
		plots:   []string{"call, µs", "allocated per call, KB"},
		measure: measureSizes,
	}
}

func measureSizes(ctx context.Context, p point) (f figures, err error) {
	c, err := openCaller(ctx, p.Subject)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var before, after runtime.MemStats
	calls := 0
	runtime.ReadMemStats(&before)
	f = figures{}
	f["call, µs"], err = each(func() error {
		calls++
		return c.call(ctx, p.N)
	})
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	f["allocated per call, KB"] = float64(after.TotalAlloc-before.TotalAlloc) / 1e3 / float64(calls)
	return f, nil
}

// callers has N callers call one server at the same time.
func callers() axis {
	return axis{
		name: "callers", counts: "callers",
		about: "N callers call one server at the same time, for half a second after a tenth. A caller that gets an error " +
			"calls again when that says so, else 2 ms later: calls that are refused are counted by themselves.",
		subjects: []string{hostStdio, sdkStdio, hostHTTP, sdkHTTP}, sizes: []int{1, 8, 64, 512, 2_048, 4_096},
		plots:   []string{"calls/s", "99th percentile, ms"},
		measure: measureCallers,
	}
}

func measureCallers(ctx context.Context, p point) (f figures, err error) {
	c, err := openCaller(ctx, p.Subject)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	const warm, span = 100 * time.Millisecond, 500 * time.Millisecond
	took, refused := make([][]float64, p.N), make([]int, p.N)
	var last error // of the first caller
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range p.N {
		wg.Go(func() {
			for time.Since(begin) < warm+span {
				at := time.Now()
				err := c.call(ctx, 20)
				counted := at.Sub(begin) >= warm
				switch {
				case time.Since(begin) > warm+span: // too late
				case err == nil && counted:
					took[i] = append(took[i], millis(time.Since(at)))
				case err != nil:
					if counted {
						refused[i]++
					}
					if i == 0 {
						last = err
					}
					time.Sleep(retryAfter(err))
				}
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	if len(all) == 0 && last != nil {
		return nil, fmt.Errorf("no call of %d callers came back in %v: %w", p.N, span, last)
	}
	if len(all) == 0 {
		return figures{"calls/s": 0}, nil // all calls take longer than that
	}
	slices.Sort(all)
	turned := 0
	for _, n := range refused {
		turned += n
	}
	return figures{
		"calls/s":             float64(len(all)) / span.Seconds(),
		"median, ms":          all[len(all)/2],
		"99th percentile, ms": all[len(all)*99/100],
		"refused/s":           float64(turned) / span.Seconds(),
	}, nil
}

// retryAfter returns when a caller tries again: when the error says, else in 2 ms.
func retryAfter(err error) time.Duration {
	var busy *mcp.BusyError
	if errors.As(err, &busy) {
		return busy.RetryAfter
	}
	return 2 * time.Millisecond
}

// approvals has N calls wait for a decision.
func approvals() axis {
	return axis{
		name: "approvals", counts: "calls that wait",
		about:    "N calls of one tool wait for a decision. They are listed, and then approved one after the other.",
		subjects: []string{"registry"}, sizes: []int{10, 100, 1_000, 10_000},
		plots:   []string{"ask, µs", "list, ms", "approve, µs"},
		measure: measureApprovals,
	}
}

func measureApprovals(ctx context.Context, p point) (f figures, err error) {
	ask := func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		if req.Approved {
			return approval.Decision{Verdict: approval.Allow}, nil
		}
		return approval.Decision{Verdict: approval.Ask}, nil
	}
	r := registry.New(&registry.Options{Approver: registry.ApproverFunc(ask), Approvals: approval.Options{MaxPending: p.N}})
	if err := r.Add(fixed{&registry.Definition{Name: "delete", Description: "Deletes a file.", InputSchema: json.RawMessage(`{"type":"object"}`)}}); err != nil {
		return nil, err
	}
	f = figures{}
	before := weigh()
	asked, err := timed(func() error {
		for i := range p.N {
			_, err := r.Call(ctx, "delete", fmt.Appendf(nil, `{"path":"%d"}`, i))
			var required *registry.ApprovalRequiredError
			if !errors.As(err, &required) {
				return fmt.Errorf("got %w, want an ApprovalRequiredError", err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f["ask, µs"] = 1e3 * asked / float64(p.N)
	f["heap, MB"] = max(0, weigh().Heap-before.Heap)
	var waiting []*registry.ApprovalRequest
	if f["list, ms"], err = timed(func() error {
		if waiting = r.Approvals(ctx); len(waiting) != p.N {
			return fmt.Errorf("got %d calls that wait, want %d", len(waiting), p.N)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	approved, err := timed(func() error {
		for _, req := range waiting {
			if _, err := r.Approve(ctx, req.ID, nil); err != nil {
				return err
			}
		}
		return nil
	})
	f["approve, µs"] = 1e3 * approved / float64(p.N)
	return f, err
}
