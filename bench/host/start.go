package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// measureApply applies a change of one entry to a host with many servers, all of which
// run in this process. The config is read before, since Apply takes it so.
func measureApply(ctx context.Context, o *options) (rows []row, err error) {
	configs := make([]*config.Config, 2)
	for k := range configs {
		configs[k], err = parse(entries(o.servers, func(i int) string {
			if i == o.servers/2 {
				return fmt.Sprintf(`{"command": "x", "args": ["%d"]}`, k)
			}
			return `{"command": "x"}`
		})...)
		if err != nil {
			return nil, err
		}
	}
	h := host.New(&host.Options{Transport: inProcess, StateDir: host.NoState})
	defer func() { err = errors.Join(err, h.Close()) }()
	first := time.Now()
	if _, err := h.Apply(ctx, configs[0]); err != nil {
		return nil, err
	}
	all := time.Since(first)
	if err := listed(h, o.servers); err != nil {
		return nil, err
	}
	var change, nothing []float64
	for i := range 4 * o.rounds {
		next := configs[(i+1)%2]
		begin := time.Now()
		report, err := h.Apply(ctx, next)
		change = append(change, millis(time.Since(begin)))
		if err != nil || len(report.Replaced) != 1 || len(report.Kept) != o.servers-1 {
			return nil, fmt.Errorf("%d replaced, %d kept, %w", len(report.Replaced), len(report.Kept), err)
		}
		begin = time.Now()
		if _, err := h.Apply(ctx, next); err != nil {
			return nil, err
		}
		nothing = append(nothing, millis(time.Since(begin)))
	}
	return []row{
		{fmt.Sprintf("Apply of one change among %d servers in this process", o.servers), change, "ms", "< 5 ms"},
		{"the same without a change", nothing, "ms", ""},
		{fmt.Sprintf("the first Apply: %d servers started", o.servers), []float64{millis(all)}, "ms", ""},
	}, nil
}

// processes is how many are started at one time, and how many lazy servers there are.
const processes = 50

// measureStart starts the same processes in parallel: by a host until all are ready and
// listed, and without MCP until each has written one line. Their ends are not measured.
func measureStart(ctx context.Context, o *options) ([]row, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c, err := parse(entries(processes, func(i int) string {
		return fmt.Sprintf(`{"command": %q, "args": [%q, "%d"]}`, program, roleServer, i)
	})...)
	if err != nil {
		return nil, err
	}
	var with, without, ratio []float64
	for range o.rounds {
		bare, err := startBare(program)
		if err != nil {
			return nil, err
		}
		ours, err := startHost(ctx, c)
		if err != nil {
			return nil, err
		}
		with, without, ratio = append(with, millis(ours)), append(without, millis(bare)), append(ratio, float64(ours)/float64(bare))
	}
	return []row{
		{fmt.Sprintf("%d processes until each has written a line", processes), without, "ms", ""},
		{fmt.Sprintf("Apply of %d stdio servers of the same program, all listed", processes), with, "ms", ""},
		{"ratio, round by round", ratio, "×", "≤ 1.2 ×"},
	}, nil
}

func startHost(ctx context.Context, c *config.Config) (took time.Duration, err error) {
	h := host.New(&host.Options{StateDir: host.NoState})
	defer func() { err = errors.Join(err, h.Close()) }()
	begin := time.Now()
	if _, err := h.Apply(ctx, c); err != nil {
		return 0, err
	}
	took = time.Since(begin)
	return took, listed(h, processes)
}

func startBare(program string) (took time.Duration, err error) {
	errs := make([]error, processes)
	ends := make([]func() error, processes)
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range processes {
		wg.Go(func() { ends[i], errs[i] = startLine(program) })
	}
	wg.Wait()
	took = time.Since(begin)
	for i, end := range ends {
		if errs[i] == nil {
			errs[i] = end()
		}
	}
	return took, errors.Join(errs...)
}

// startLine starts a process and waits for its line.
func startLine(program string) (end func() error, err error) {
	cmd := exec.Command(program, roleLine)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil && strings.TrimSpace(line) != "up" {
		err = fmt.Errorf("the process wrote %q", line)
	}
	return func() error { return errors.Join(in.Close(), cmd.Wait()) }, err
}

// measureLazy opens a config file with lazy servers whose catalogues are known: from the
// call of Open, which reads the file, to all tools listed. The files are in the system's
// cache.
func measureLazy(ctx context.Context, o *options) (rows []row, err error) {
	for _, tools := range []int{1, 20} {
		opened, err := openLazy(ctx, o, tools)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{fmt.Sprintf("Open with %d lazy servers of %d tools, all listed", processes, tools), opened, "ms", "< 20 ms"})
	}
	return rows, nil
}

func openLazy(ctx context.Context, o *options, tools int) (opened []float64, err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	pairs := entries(processes, func(int) string { return `{"command": "x", "lazy": true}` })
	var members []string
	for i := 0; i < len(pairs); i += 2 {
		members = append(members, fmt.Sprintf("%q: %s", pairs[i], pairs[i+1]))
	}
	path := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {`+strings.Join(members, ",\n")+`}}`), 0o600); err != nil {
		return nil, err
	}
	started := make(chan string, 10*processes)
	opts := &host.Options{
		StateDir: filepath.Join(dir, "state"),
		Ledger:   filepath.Join(dir, "mcp.lock.json"),
		OpenWait: -1,
		Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
			return manyTools(e.Name, tools, started), nil
		},
	}
	h, err := host.Open(ctx, path, opts)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(h.Refresh(ctx), listed(h, processes*tools), h.Shutdown(ctx)); err != nil {
		return nil, err
	}
	for len(started) > 0 {
		<-started
	}
	for range 4 * o.rounds {
		begin := time.Now()
		h, err := host.Open(ctx, path, opts)
		if err != nil {
			return nil, err
		}
		if err := listed(h, processes*tools); err != nil {
			return nil, errors.Join(err, h.Close())
		}
		opened = append(opened, millis(time.Since(begin)))
		if err := h.Close(); err != nil {
			return nil, err
		}
	}
	if len(started) > 0 {
		return nil, fmt.Errorf("opening started %s", <-started)
	}
	return opened, nil
}
