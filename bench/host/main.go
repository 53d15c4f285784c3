// Host measures the host of this library: what it takes to apply one change to many
// servers, to start many processes, to open with many lazy servers, to live beside a
// hostile server, and to serve many users.
//
//	go run ./host                        # all, takes some minutes
//	go run ./host -only apply,lazy -rounds 5
//
// Each line is the median of several rounds, with the least and the greatest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

// options are the flags of the program.
type options struct {
	only    string
	rounds  int
	servers int // for apply; the others follow from the goals
	users   int
	profile string
}

// run is the program or, with a role as the first argument, a server that it starts.
func run(args []string, stdout io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case roleServer:
			return runServer()
		case roleLine:
			return runLine()
		}
	}
	var o options
	flags := flag.NewFlagSet("host", flag.ContinueOnError)
	flags.StringVar(&o.only, "only", "", "measure only these, with commas between: "+strings.Join(names(), ", "))
	flags.IntVar(&o.rounds, "rounds", 7, "how many rounds of each")
	flags.IntVar(&o.servers, "servers", 500, "how many servers a change is applied to")
	flags.IntVar(&o.users, "users", 2000, "how many users call one server")
	flags.StringVar(&o.profile, "cpuprofile", "", "write a profile of the processor's time to this `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if o.rounds < 1 || o.servers < 1 || o.users < 1 {
		return errors.New("-rounds, -servers and -users must be positive")
	}
	if o.profile != "" {
		end, err := profile(o.profile)
		if err != nil {
			return err
		}
		defer end()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	chosen := names()
	if o.only != "" {
		chosen = strings.Split(o.only, ",")
	}
	fmt.Fprintln(stdout, "| what | median | min | max | goal |")
	fmt.Fprintln(stdout, "|---|--:|--:|--:|---|")
	for _, name := range chosen {
		at := slices.IndexFunc(works(), func(w work) bool { return w.name == name })
		if at < 0 {
			return fmt.Errorf("-only takes %s, not %q", strings.Join(names(), ", "), name)
		}
		rows, err := works()[at].measure(ctx, &o)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, r := range rows {
			if _, err := fmt.Fprintln(stdout, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// profile begins to write a profile.
func profile(name string) (end func(), err error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}

// A work is one thing that is measured.
type work struct {
	name    string
	measure func(context.Context, *options) ([]row, error)
}

func works() []work {
	return []work{
		{"apply", measureApply},
		{"start", measureStart},
		{"lazy", measureLazy},
		{"hostile", measureHostile},
		{"users", measureUsers},
	}
}

func names() []string {
	var all []string
	for _, w := range works() {
		all = append(all, w.name)
	}
	return all
}

// A row is one line of the table.
type row struct {
	what   string
	values []float64
	unit   string
	goal   string
}

// String returns the row in Markdown.
func (r row) String() string {
	values := slices.Sorted(slices.Values(r.values))
	n := len(values)
	if n == 0 {
		return fmt.Sprintf("| %s | | | | %s |", r.what, r.goal)
	}
	median := (values[(n-1)/2] + values[n/2]) / 2
	return fmt.Sprintf("| %s | %.4g %s | %.4g | %.4g | %s |", r.what, median, r.unit, values[0], values[n-1], r.goal)
}
