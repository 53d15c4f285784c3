package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

func writeTable(w io.Writer, rows []row) error {
	var b strings.Builder
	table(&b, rows)
	_, err := io.WriteString(w, b.String())
	return err
}

func table(b *strings.Builder, rows []row) {
	b.WriteString("| search | held-out nDCG@5 | recall@5 | unseen nDCG@5 | recall@5 | tuning nDCG@5 | recall@5 |\n")
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", r.name,
			r.heldOut.NDCG5, r.heldOut.Recall5, r.unseen.NDCG5, r.unseen.Recall5, r.tuning.NDCG5, r.tuning.Recall5)
	}
}

// writeMarkdown writes the table and all that is needed to read it.
func writeMarkdown(w io.Writer, rows []row) error {
	servers := toolcorpus.Servers()
	tools := 0
	for _, s := range servers {
		tools += len(s.Tools)
	}
	var b strings.Builder
	b.WriteString("# Finding tools\n\nWritten by `go run ./search -out SEARCH.md`; change nothing by hand.\n\n")
	fmt.Fprintf(&b, "%d tools of %d servers; %d queries to tune with, %d held out, %d of these unseen; bleve %s.\n\n",
		tools, len(servers), rows[0].tuning.Queries, rows[0].heldOut.Queries, rows[0].unseen.Queries, version("github.com/blevesearch/bleve/v2"))
	table(&b, rows)
	b.WriteString(method)
	_, err := io.WriteString(w, b.String())
	return err
}

// version returns the version of a module that this program was built with.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Version
			}
		}
	}
	return "of unknown version"
}

// method is the part of the file that does not depend on the figures.
const method = `
## What is measured

- **The tools** are those that real servers list, as they were served; the queries
  were written and judged from these lists before any search ran on them, see
  ` + "`internal/toolcorpus`" + `. Grades: 3 is exactly what is wanted, 2 does it too, 1
  helps in part.
- **nDCG@5** is the sum, over the first five tools found, of
  (2^grade − 1) / log2(1 + rank), divided by what the best order of all judged tools
  has. **recall@5** is how many tools of grade 2 or 3 are among the first five,
  divided by how many could be. Both are means over the queries.
- **The tuning half** is what weights and word lists of ` + "`Finder.Search`" + ` were
  chosen by; of the held-out half only these means were read, but more than once, so
  they flatter a little, too. **Unseen** are the
  queries held out that look for other tools than any query of the tuning half.
- **All searches** have the server, name, title and description of each tool, and the
  names and descriptions of its parameters. The score of counting words is how many
  of the different words of the query a tool has. bleve runs in memory with a match
  query on all fields; its defaults are those of ` + "`NewIndexMapping`" + `, and the
  other row has the analyzer for English and BM25. ` + "`Finder.Search`" + ` has its
  defaults, without an embedder.
`
