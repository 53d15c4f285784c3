package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A row is what calls of one tool in one revision took, in microseconds, in each round.
type row struct {
	revision        string
	kind            kind
	direct, through []float64
}

type table struct {
	options *options
	rows    []row
	peer    string // the other gateway, and its version; empty: it was not measured
	beside  []peerRow
	costs   []cost
}

func middle(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// page returns the table, and what is needed to read it.
func (t *table) page() string {
	var b strings.Builder
	o := t.options
	fmt.Fprintf(&b, `# What a gateway costs

Written by `+"`make bench`"+`; change nothing by hand.

%s, %s, %s/%s, %d cores. %d rounds of %d calls each, medians of the rounds' medians.

| calls | direct, µs | through the gateway, µs | the hop, µs | ratio |
|---|--:|--:|--:|--:|
`, time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.rounds, o.calls)
	for _, r := range t.rows {
		d, g := middle(r.direct), middle(r.through)
		fmt.Fprintf(&b, "| %s, %s | %.0f | %.0f | %.0f | %.2f |\n", r.revision, r.kind.name, d, g, g-d, g/d)
	}
	b.WriteString(`
Client, gateway and server are a process each on the same cores, over loopback HTTP, with one
caller. The server uses no SDK and answers from bytes made beforehand; the client is this
library's, so a direct call holds all of its work, and a call through the gateway that of the
gateway's client too. Direct calls and those through the gateway alternate. A large message is
received and sent once more on a hop, which is about what a direct call is; what the hop adds to
that is one validating scan of an answer and one of arguments.

`)
	if t.peer != "" {
		fmt.Fprintf(&b, "| calls, server over stdio | direct, µs | through mcpbelt, µs | through %s, µs |\n|---|--:|--:|--:|\n", t.peer)
		for _, r := range t.beside {
			fmt.Fprintf(&b, "| 2025-11-25, %s | %.0f | %.0f | %.0f |\n", r.kind.name, middle(r.direct), middle(r.ours), middle(r.other))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "| one of %d | |\n|---|--:|\n", o.clients)
	for _, c := range t.costs {
		fmt.Fprintf(&b, "| %s | %.3g %s |\n", c.about, c.value, c.unit)
	}
	b.WriteString(`
Memory is what the process has more, as the system counts it. A client of revision 2026-07-28
without a stream leaves nothing behind.
`)
	return b.String()
}
