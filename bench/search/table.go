package main

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/benchprocess"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| search | half | nDCG@5 | recall@5 | recall@15 | right@5 | right@15 |\n")
	b.WriteString("|---|---|--:|--:|--:|--:|--:|\n")
	for _, half := range []struct {
		name string
		of   func(row) toolcorpus.Measures
	}{
		{"held out", func(r row) toolcorpus.Measures { return r.heldOut }},
		{"unseen", func(r row) toolcorpus.Measures { return r.unseen }},
		{"tuning", func(r row) toolcorpus.Measures { return r.tuning }},
	} {
		for _, r := range rows {
			m := half.of(r)
			fmt.Fprintf(&b, "| %s | %s | %.3f | %.3f | %.3f | %.3f | %.3f |\n", r.name, half.name, m.NDCG5, m.Recall5, m.Recall15, m.Right5, m.Right15)
		}
	}
	return b.String()
}

// A report is all that was measured.
type report struct {
	rows    []row
	answers answers
}

// page returns the tables and all that is needed to read them.
func (r *report) page() string {
	servers := toolcorpus.Servers()
	tools := 0
	for _, s := range servers {
		tools += len(s.Tools)
	}
	var b strings.Builder
	b.WriteString("# Finding tools\n\nWritten by `make bench`; change nothing by hand.\n\n")
	fmt.Fprintf(&b, "%d tools of %d servers; %d queries to tune with, %d held out, %d of these unseen; bleve %s.\n\n",
		tools, len(servers), r.rows[0].tuning.Queries, r.rows[0].heldOut.Queries, r.rows[0].unseen.Queries, benchprocess.Version("github.com/blevesearch/bleve/v2"))
	b.WriteString(table(r.rows))
	a := r.answers
	fmt.Fprintf(&b, `
## What a search costs

| | |
|---|--:|
| definitions of all tools, bytes | %d |
| definitions that a model gets to search with, bytes | %d |
| an answer of search_tools, mean bytes | %d |
| the largest | %d |
| the first search, which reads all tools | %v |
| a call of search_tools after that, median | %v |
| the slowest | %v |
`, a.all, a.fixed, a.mean, a.largest, a.first.Round(time.Millisecond), a.median.Round(10*time.Microsecond), a.slowest.Round(10*time.Microsecond))
	b.WriteString("\n" + method)
	return b.String()
}

// method is the part of the file that does not depend on the figures.
//
//go:embed method.md
var method string
