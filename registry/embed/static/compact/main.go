// Compact makes a small table of word vectors for registry/embed/static, of a file in the
// format of GloVe or word2vec:
//
//	go run github.com/mcpbelt/mcpbelt/registry/embed/static/compact -words 50000 vectors.txt vectors.bin
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/mcpbelt/mcpbelt/registry/embed/static"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "compact:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("compact", flag.ContinueOnError)
	words := flags.Int("words", 0, "`number` of words to keep, the first of the file (default 50,000)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New("want the name of the file to read and of the file to write")
	}
	vectors, err := static.Open(flags.Arg(0), &static.Options{Words: *words})
	if err != nil {
		return err
	}
	f, err := os.Create(flags.Arg(1))
	if err != nil {
		return err
	}
	size, err := vectors.WriteTo(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d words of %d numbers in %d bytes\n", vectors.Words(), vectors.Numbers(), size)
	return err
}
