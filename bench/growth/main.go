// Growth measures how the costs of this library grow with its work: with the number of
// servers, tools, users, sessions, logins, callers and calls that wait, and with the size of results. It
// measures the official SDK beside it where the SDK has the same work to do.
//
//	go run . -out ../GROWTH.md                  # all, at most 10 minutes
//	go run . -match '^users' -rounds 1          # a part
//	go run . -match 'tools registry 10000' -cpuprofile cpu.out
//
// Each point runs in a process of its own, so that no figure depends on the points
// before it. The servers are child processes of that process and use no SDK.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

// The roles of a process that this program starts, as its first argument.
const (
	rolePoint   = "point" // measures one point
	roleServer  = "serve" // is an MCP server
	roleGateway = "gateway"
	roleOAuth   = "oauth" // is an authorization server
)

// pointLimit bounds how long one point takes.
const pointLimit = time.Minute

// options are the flags of the program.
type options struct {
	match      *regexp.Regexp
	out        string
	page       string
	rounds     int
	most       int
	limit      time.Duration
	cpuProfile string
}

func parseOptions(args []string) (*options, error) {
	var o options
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	match := flags.String("match", "", "measure only the points whose `pattern` this is, such as '^users|^tools registry 10000'")
	flags.StringVar(&o.out, "out", "", "write the table to this `file`, in Markdown, the plots to the folder plots, and the figures to growth.json beside it (default: the table to standard output)")
	flags.StringVar(&o.page, "page", "", "make the arithmetic in this `file` from the figures beside -out")
	flags.IntVar(&o.rounds, "rounds", 3, "how many times each point is measured; its figures are medians")
	flags.IntVar(&o.most, "most", 0, "measure no point that is larger; 0: all")
	flags.DurationVar(&o.limit, "limit", 10*time.Minute, "begin no round that would end later")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "", "write a profile of the point that is measured last to this `file`")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if o.page != "" && o.out == "" {
		return nil, errors.New("-page needs -out")
	}
	if o.rounds < 1 || o.most < 0 || o.limit <= 0 {
		return nil, errors.New("-rounds and -limit must be positive, and -most may not be negative")
	}
	var err error
	if o.match, err = regexp.Compile(*match); err != nil {
		return nil, fmt.Errorf("-match: %w", err)
	}
	return &o, nil
}

// run is the program or, with a role as the first argument, a process that it starts.
func run(args []string, stdout io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case rolePoint:
			return runPoint(args[1:], stdout)
		case roleServer:
			return runServer(args[1:], stdout)
		case roleGateway:
			return runGateway(args[1:], stdout)
		case roleOAuth:
			return runOAuth(stdout)
		}
	}
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	chosen := o.points()
	if len(chosen) == 0 {
		return errors.New("no point matches")
	}
	r, err := measureAll(ctx, o, chosen)
	if err != nil {
		return err
	}
	if o.out == "" {
		return r.writeTable(stdout)
	}
	return r.writeFiles(o.out, o.page)
}

// points returns the points that the options choose.
func (o *options) points() []point {
	var chosen []point
	for _, a := range axes() {
		if slices.Contains(a.subjects, inPostgres) && postgresProgram("initdb") == "" {
			fmt.Fprintf(os.Stderr, "growth: %s is left out: there is no program initdb of PostgreSQL\n", a.name)
			continue
		}
		for _, subject := range a.subjects {
			for _, n := range a.sizes {
				p := point{Axis: a.name, Subject: subject, N: n}
				if o.match.MatchString(p.String()) && (o.most == 0 || n <= o.most) {
					chosen = append(chosen, p)
				}
			}
		}
	}
	return chosen
}

// measureAll measures the points in rounds. After the first round it begins one only if
// that would end before the limit.
func measureAll(ctx context.Context, o *options, chosen []point) (*results, error) {
	r := newResults(time.Now())
	var longest time.Duration
	for r.rounds < o.rounds && (r.rounds == 0 || time.Since(r.begin)+longest <= o.limit) {
		begin := time.Now()
		for _, p := range chosen {
			if time.Since(r.begin) > o.limit {
				return nil, fmt.Errorf("the first round is not done after %v; measure a part with -match", o.limit)
			}
			measured, err := p.inProcess(ctx, o.cpuProfile)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			r.add(p, measured)
			fmt.Fprintf(os.Stderr, "%6.1fs %s\n", time.Since(r.begin).Seconds(), p)
		}
		r.rounds++
		longest = max(longest, time.Since(begin))
	}
	return r, nil
}
