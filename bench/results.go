package main

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/benchprocess"
)

// results are all that was measured in one run.
type results struct {
	opts   *options
	when   time.Time
	peers  []string
	rounds map[string][]round // by work
}

func newResults(o *options, when time.Time) *results {
	return &results{opts: o, when: when, peers: strings.Split(o.peers, ","), rounds: map[string][]round{}}
}

// page returns the tables and all that is needed to read them.
func (r *results) page() string {
	p := &printer{}
	p.line("# Side by side")
	p.line("")
	p.line("Written by `make bench`; change nothing by hand.")
	p.line("")
	r.facts(p)
	p.line("")
	r.medians(p)
	p.line("%s", method)
	p.line("## Spread")
	p.line("")
	p.line("The least and the greatest of the rounds.")
	p.line("")
	r.table(p, spread.span, spread.span)
	return p.String()
}

// table writes a row for each figure, of which there are forms for the cells and for the ratio.
func (r *results) table(p *printer, form, ratio func(spread) string) {
	p.row("measure", append(slices.Clone(r.peers), "ours / floor"))
	p.line("|---|%s", strings.Repeat("--:|", len(r.peers)+1))
	for _, f := range r.figures() {
		var cells []string
		rounds := r.rounds[f.work]
		for _, peer := range r.peers {
			cells = append(cells, form(f.of(rounds, peer)))
		}
		p.row(f.title, append(cells, ratio(f.ratio(rounds))))
	}
}

func (r *results) facts(p *printer) {
	p.line("%s, %s, %s/%s, %d cores of which each process uses %d.",
		r.when.Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.opts.procs)
	p.line("%d rounds, %v for each client in each. Clients: this library as it stands beside this file,",
		r.opts.rounds, r.opts.slot)
	p.line("github.com/modelcontextprotocol/go-sdk %s (SDK), github.com/mark3labs/mcp-go %s.",
		benchprocess.Version("github.com/modelcontextprotocol/go-sdk"), benchprocess.Version("github.com/mark3labs/mcp-go"))
}

// figures returns the rows for which there are rounds.
func (r *results) figures() []figure {
	var list []figure
	for _, f := range figures() {
		if len(r.rounds[f.work]) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// writeTable writes the medians.
func (r *results) writeTable(w io.Writer) error {
	p := &printer{}
	r.medians(p)
	_, err := io.WriteString(w, p.String())
	return err
}

func (r *results) medians(p *printer) {
	r.table(p, func(s spread) string { return short(s.median) }, func(s spread) string {
		if math.IsNaN(s.median) {
			return noFigure
		}
		return fmt.Sprintf("%.2f", s.median)
	})
	p.line("")
}

func (s spread) span() string {
	switch {
	case math.IsNaN(s.max):
		return noFigure
	case s.max < 10:
		return fmt.Sprintf("%.2f to %.2f", s.min, s.max)
	}
	return short(s.min) + " to " + short(s.max)
}

// A printer holds the lines of a page.
type printer struct{ strings.Builder }

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *printer) row(title string, cells []string) {
	p.line("| %s | %s |", title, strings.Join(cells, " | "))
}

// method is the part of the results that does not depend on them.
//
//go:embed method.md
var method string
