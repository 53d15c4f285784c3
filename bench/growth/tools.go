package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// tools fills a registry with N tools.
func tools() axis {
	return axis{
		name: "tools", counts: "tools",
		about: "N tools with schemas of 600 bytes, at most 1,000 of one server, fill a registry without connections. " +
			"Then 20 of them change, a model is told that it has to search for tools, and does so a second later, which is as soon as any " +
			"model answers. All tools are declared to another model, and one is called.",
		subjects: []string{"registry"}, sizes: []int{10, 100, 1_000, 10_000},
		plots:   []string{"fill, ms", "next turn, µs", "unknown name, µs", "heap, MB"},
		measure: measureTools,
	}
}

// accepted fills a registry with N tools and a ledger.
func accepted() axis {
	return axis{
		name: "ledger", counts: "tools",
		about: "N tools, 10 of each server, fill a registry one server after the other, with a ledger in a file and without. " +
			"Then 5 of them change.",
		subjects: []string{"with a ledger", "without"}, sizes: []int{10, 100, 500, 1_500},
		plots:   []string{"fill, ms", "replace 5, ms"},
		measure: measureLedger,
	}
}

// Subjects of the axis "first start": how many servers list their tools at the same time.
const (
	eightLedger = "8 at once, ledger"
	eightPlain  = "8 at once"
	allLedger   = "all at once, ledger"
	allPlain    = "all at once"
)

// firstStart fills a registry with N tools of servers that start in parallel.
func firstStart() axis {
	return axis{
		name: "first start", counts: "tools",
		about: "N tools, 10 of each server, fill a registry, 8 servers at a time and all at the same time as a host does it, " +
			"with a new ledger in a file and without.",
		subjects: []string{eightLedger, eightPlain, allLedger, allPlain}, sizes: []int{100, 1_000, 3_000, 10_000},
		plots:   []string{"fill, ms"},
		measure: measureFirstStart,
	}
}

// oneChange changes one tool of N that a ledger knows.
func oneChange() axis {
	return axis{
		name: "one change", counts: "tools",
		about:    "A ledger in a file knows N tools, 100 of each server. One is listed with another description.",
		subjects: []string{"with a ledger"}, sizes: []int{1_000, 5_000, 10_000, 50_000},
		plots:   []string{"change, ms"},
		measure: measureOneChange,
	}
}

// A fixed is a tool that answers at once.
type fixed struct{ def *registry.Definition }

func (t fixed) Definition() *registry.Definition { return t.def }

func (fixed) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
}

// toolSchema is as large as those of real servers are on average.
const toolSchema = `{"type":"object","properties":{
	"owner":{"type":"string","description":"The account that the repository belongs to, without case"},
	"repo":{"type":"string","description":"The name of the repository without the extension .git"},
	"title":{"type":"string","minLength":1,"maxLength":256,"description":"The title of the issue"},
	"body":{"type":"string","description":"The text of the issue, in Markdown"},
	"labels":{"type":"array","items":{"type":"string"},"description":"The labels of the issue"},
	"state":{"type":"string","enum":["open","closed"],"default":"open"}},
	"required":["owner","repo","title"],"additionalProperties":false}`

// toolsOf returns tools of a server, of which the first ones say that they have changed.
func toolsOf(server string, n, changed int) []registry.Tool {
	list := make([]registry.Tool, n)
	for i := range list {
		def := &registry.Definition{
			Origin:      registry.Origin{Server: server, Tool: fmt.Sprintf("tool_%d_of_repository", i)},
			Description: fmt.Sprintf("Does thing %d with an issue of a repository.", i),
			InputSchema: json.RawMessage(toolSchema),
		}
		if i < changed {
			def.Description += " In another way than before."
		}
		list[i] = fixed{def}
	}
	return list
}

// fill makes a registry list n tools, so many of each server.
func fill(r *registry.Registry, n, perServer int) error {
	for first := 0; first < n; first += perServer {
		if err := replace(r, first/perServer, min(perServer, n-first), 0); err != nil {
			return err
		}
	}
	if got := len(r.Snapshot().Tools()); got != n {
		return fmt.Errorf("got %d tools, want %d", got, n)
	}
	return nil
}

func replace(r *registry.Registry, server, n, changed int) error {
	name := fmt.Sprintf("server%d", server)
	diff, err := r.Replace(registry.Server{Name: name}, toolsOf(name, n, changed))
	if err == nil && len(diff.Rejected) > 0 {
		err = diff.Rejected[0].Err
	}
	return err
}

func measureTools(ctx context.Context, p point) (f figures, err error) {
	f = figures{}
	before := weigh()
	r := registry.New(nil)
	finder, err := toolset.New(r, nil)
	if err != nil {
		return nil, err
	}
	search := func() error {
		_, err := finder.Search(ctx, toolset.Query{Text: "issue thing 7"})
		return err
	}
	turn := func() error {
		turn, err := profile.NewTurn(ctx, r, profile.OpenAI, &profile.TurnOptions{Finder: finder, Toolset: &toolset.SetOptions{Share: 1}})
		if err == nil && len(turn.Set().Tools()) != p.N {
			err = fmt.Errorf("got %d tools, want %d", len(turn.Set().Tools()), p.N)
		}
		return err
	}
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"fill, ms", func() error { return fill(r, p.N, 1_000) }},
		{"replace 20, ms", func() error { return replace(r, 0, min(p.N, 1_000), 20) }},
		{"first toolset, ms", func() error {
			if !finder.Toolset(ctx, &toolset.SetOptions{Share: -1}).Searching {
				return errors.New("got a model that sees all tools, want one that has to search")
			}
			return nil
		}},
		{"", func() error { time.Sleep(time.Second); return nil }}, // the model thinks
		{"first search, ms", search},
		{"first turn, ms", turn},
	} {
		took, err := timed(step.run)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		if step.name != "" {
			f[step.name] = took
		}
		if step.name == "fill, ms" {
			f["heap, MB"] = max(0, weigh().Heap-before.Heap)
		}
	}
	if f["search, µs"], err = each(search); err != nil {
		return nil, err
	}
	if f["next turn, µs"], err = each(turn); err != nil {
		return nil, err
	}
	args := json.RawMessage(`{"owner":"a","repo":"b","title":"c"}`)
	if f["call, µs"], err = each(func() error {
		_, err := r.Call(ctx, "server0__tool_1_of_repository", args)
		return err
	}); err != nil {
		return nil, err
	}
	f["unknown name, µs"], err = each(func() error {
		if _, err := r.Call(ctx, "somewhere__make_a_cup_of_tea", args); err == nil {
			return errors.New("got no error for a name that no tool has")
		}
		return nil
	})
	return f, err
}

// pinned returns options with a new ledger in a file of a folder, and what removes that.
func pinned() (opts *registry.Options, file string, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "growth")
	if err != nil {
		return nil, "", nil, err
	}
	file = filepath.Join(dir, "mcp.lock.json")
	accepted, err := ledger.Open(file, nil)
	if err != nil {
		return nil, "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &registry.Options{Ledger: accepted}, file, func() error { return os.RemoveAll(dir) }, nil
}

func measureLedger(_ context.Context, p point) (f figures, err error) {
	opts := &registry.Options{}
	if p.Subject == "with a ledger" {
		var remove func() error
		if opts, _, remove, err = pinned(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	f = figures{}
	before := weigh()
	r := registry.New(opts)
	if f["fill, ms"], err = timed(func() error { return fill(r, p.N, 10) }); err != nil {
		return nil, err
	}
	f["heap, MB"] = max(0, weigh().Heap-before.Heap)
	f["replace 5, ms"], err = timed(func() error { return replace(r, 0, 10, 5) })
	return f, err
}

func measureFirstStart(_ context.Context, p point) (f figures, err error) {
	opts, file := &registry.Options{}, ""
	if p.Subject == eightLedger || p.Subject == allLedger {
		var remove func() error
		if opts, file, remove, err = pinned(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	const perServer = 10
	atOnce := p.N / perServer
	if p.Subject == eightLedger || p.Subject == eightPlain {
		atOnce = 8
	}
	f = figures{}
	before := weigh()
	r := registry.New(opts)
	if f["fill, ms"], err = timed(func() error { return fillAtOnce(r, p.N/perServer, perServer, atOnce) }); err != nil {
		return nil, err
	}
	f["heap, MB"] = max(0, weigh().Heap-before.Heap)
	runtime.KeepAlive(r)
	if file != "" {
		err = f.size(file)
	}
	return f, err
}

// fillAtOnce makes a registry list the tools of servers, so many servers at a time.
func fillAtOnce(r *registry.Registry, servers, perServer, atOnce int) error {
	errs := make([]error, servers)
	var next atomic.Int64
	var work sync.WaitGroup
	for range atOnce {
		work.Go(func() {
			for server := int(next.Add(1)) - 1; server < servers; server = int(next.Add(1)) - 1 {
				errs[server] = replace(r, server, perServer, 0)
			}
		})
	}
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if got, want := len(r.Snapshot().Tools()), servers*perServer; got != want {
		return fmt.Errorf("got %d tools, want %d", got, want)
	}
	return nil
}

func measureOneChange(_ context.Context, p point) (f figures, err error) {
	opts, file, remove, err := pinned()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r := registry.New(opts)
	const perServer, changes = 100, 5 // each of another server: one alone may write a few times a minute
	if err := fillAtOnce(r, p.N/perServer, perServer, p.N/perServer); err != nil {
		return nil, err
	}
	took := make([]float64, changes)
	for server := range took {
		if took[server], err = timed(func() error { return replace(r, server, perServer, 1) }); err != nil {
			return nil, err
		}
	}
	f = figures{"change, ms": median(took)}
	return f, f.size(file)
}

// size adds how large a file is.
func (f figures) size(file string) error {
	info, err := os.Stat(file)
	if err == nil {
		f["file, MB"] = float64(info.Size()) / 1e6
	}
	return err
}
