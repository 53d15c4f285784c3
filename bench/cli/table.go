package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"
)

// A table is the page with all figures.
type table struct {
	options  *options
	node     string // its version
	versions [programs]string
	tasks    []*task
	sizes    map[string]int64 // of the program, by system
}

// milliseconds returns the median of times.
func milliseconds(of []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return float64(sorted[len(sorted)/2].Microseconds()) / 1000
}

func (t *table) write() error {
	var b bytes.Buffer
	o := t.options
	fmt.Fprintf(&b, `# What a command costs

Written by %s; change nothing by hand.

%s, %s, %s/%s, %d cores, Node %s. Milliseconds from the start of a process to its end: medians of %d
commands in %d rounds, in each of which the programs take turns.

| | mcpbelt | mcporter %s | mcpdo %s | goal |
|---|--:|--:|--:|---|
`, "`make bench`", time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), t.node,
		o.rounds*o.calls, o.rounds, t.versions[porter], t.versions[inspector])
	for _, task := range t.tasks {
		t.row(&b, task.name, task, 0, task.goal)
		if task.alone != nil {
			alone := milliseconds(task.timesAlone)
			t.row(&b, fmt.Sprintf("its overhead over the server alone (%.0f ms)", alone), task, alone, "≤ 60")
		}
	}
	b.WriteString("\n| program for | MB | goal |\n|---|--:|---|\n")
	for _, system := range slices.Sorted(maps.Keys(t.sizes)) {
		fmt.Fprintf(&b, "| %s | %.1f | ≤ 30 |\n", system, float64(t.sizes[system])/1e6)
	}
	fmt.Fprintf(&b, `
All have the same %d servers: @modelcontextprotocol/server-everything of npm, and %d processes of the
neutral server of this folder, written without an SDK in Go, with %d tools each. A warm call has
%s, the keep-alive daemon of mcporter and a connection of mcpdo to a server that runs;
nothing else is asked of them. A cold call starts the server, too; that of mcpdo is made by the
command line of its package, %s. Lists are %s, %s
and %s, which start no server. The server alone is started,
initialized, called and ended. Neither of the others completes names of servers or tools. The files
of mcpbelt are in their usual place, and those of other programs are looked for; its ledger is on.
`, servers, servers-1, tools, "`mcpbelt daemon`", "`mcp-inspector --cli`", "`mcpbelt list`", "`mcporter config list`", "`mcpdo servers/list`")
	if o.out == "" {
		_, err := os.Stdout.Write(b.Bytes())
		return err
	}
	return os.WriteFile(o.out, b.Bytes(), 0o644)
}

// row writes a row of times, less what the server takes alone.
func (t *table) row(b *bytes.Buffer, name string, of *task, alone float64, goal string) {
	fmt.Fprintf(b, "| %s |", name)
	for _, times := range of.times {
		if times == nil {
			b.WriteString(" – |")
			continue
		}
		fmt.Fprintf(b, " %.1f |", milliseconds(times)-alone)
	}
	fmt.Fprintf(b, " %s |\n", goal)
}
