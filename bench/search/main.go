// Search measures the search for tools of this library beside another one, on the
// tools of real servers and on queries that were judged before any search ran on
// them (internal/toolcorpus). The other is
// github.com/blevesearch/bleve/v2: as it comes, and set up for English with BM25.
//
//	go run ./search                     # the table
//	go run ./search -out SEARCH.md      # the file, with what is needed to read it
//
// There is no chance in it: the same code gives the same figures, but for times.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "search:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("search", flag.ContinueOnError)
	out := flags.String("out", "", "write to this `file`, in Markdown (default: the table to standard output)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	var r report
	var err error
	if r.rows, err = measure(contenders()); err != nil {
		return err
	}
	if *out == "" {
		_, err = io.WriteString(stdout, table(r.rows))
		return err
	}
	if r.answers, err = measureAnswers(); err != nil {
		return err
	}
	return os.WriteFile(*out, []byte(r.page()), 0o644)
}

// A contender is a search to be measured.
type contender struct {
	name string
	// open indexes the corpus. The search returns the best tools first, as
	// "server/tool"; end frees what it holds.
	open func() (search func(text string) ([]string, error), end func() error, err error)
}

// shown is how many tools of a search are looked at: those that search_tools shows.
const shown = 15

const (
	nameOurs    = "Finder.Search"
	nameBleve   = "bleve, defaults"
	nameEnglish = "bleve, English, BM25"
)

func contenders() []contender {
	return []contender{
		{nameOurs, openOurs},
		{nameBleve, openBleve},
		{nameEnglish, openEnglish},
	}
}

// A row is what was measured of one contender.
type row struct {
	name                    string
	tuning, heldOut, unseen toolcorpus.Measures
}

func measure(list []contender) ([]row, error) {
	var rows []row
	for _, c := range list {
		r, err := c.measure()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (c contender) measure() (r row, err error) {
	r.name = c.name
	search, end, err := c.open()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if r.tuning, err = toolcorpus.Measure(toolcorpus.Tuning, search); err != nil {
		return r, err
	}
	if r.heldOut, err = toolcorpus.Measure(toolcorpus.HeldOut, search); err != nil {
		return r, err
	}
	r.unseen, err = toolcorpus.MeasureOf(toolcorpus.Unseen(), search)
	return r, err
}
