package main

import (
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
	p.WriteString(method)
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
const method = `Each figure is the median of the rounds; the ratio to the floor is taken in each
round, and its median is shown. "–" stands where there is no figure.

## How to run it

    make bench                                              # this file
    cd bench && go run . -match ^stdio-small -rounds 3      # a part
    cd bench && go run . -h                                 # all flags

## What is measured

- **The server** is the same for all and uses no SDK (` + "`neutral.go`" + `). It is a child
  process, over HTTP too, and answers from bytes made beforehand.
- **The clients** run one to a process and take turns, each with an empty garbage
  collector at the beginning of its turn. All speak revision 2025-11-25. They get
  their arguments as JSON that is ready to send, and every answer is checked. Over
  HTTP the SDK and mcp-go are given a connection pool that is large enough; their
  default is two idle connections.
- **The floor** has no client. With one caller it writes the request's line to the
  child's pipe and reads the answer's line, or posts the request with net/http and
  reads the body. Each answer is copied once, to memory that its caller could keep,
  and not decoded: what is checked is whether the text is in it, or how long it is.
  With 64 callers over stdio one goroutine keeps a request of each in flight: it
  reads the answers that have arrived, finds the caller of each by the id, and
  writes their next requests in one write. Over HTTP 64 goroutines post.
- **A small call** sends a text of 20 bytes and gets it back. The long answer is one
  text block of 100,000 bytes that looks like source text: one character in forty
  is escaped.
- **tools/list** is done on a new connection each time, after one small call; only
  the listing counts. The tools have a description of about 150 bytes and a schema
  of about 400.
- **Allocations** are those of the whole process of the client during its turn.
- **SSE** is the same HTTP server, which sends each answer as a stream of one event.
- **Through a registry** the calls go over stdio, with all 1,000 tools in the registry.
  The other clients have none.
- **Connecting** ends when a first small call is answered, for the floor too, which
  has no handshake. It includes the start of a child process, over stdio. Here and in
  what follows the server has two tools, and each turn a process of its own.
- **Fifty servers** are connected together, after one that was connected and closed. Over HTTP they are fifty clients of one server.
  What an idle one holds is what the process holds more than before, garbage collected
  and freed memory returned to the system, divided by fifty. The server's processes do
  not count.

`
