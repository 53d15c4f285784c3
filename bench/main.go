// Bench measures this library's client side by side with that of the official
// SDK and that of mark3labs/mcp-go, against one server that is written without
// any SDK, and with the floor: the same bytes through the same kind of pipe or
// connection without a client.
//
//	go run . -out RESULTS.md                    # all, takes some minutes
//	go run . -match ^stdio-small -rounds 3      # a part
//	go run . -match stdio-small -peers floor,ours -cpuprofile cpu.out
//
// Each turn of a client is a process of its own, so that no one's garbage is
// collected in another's time, and its servers are children of that process.
// The clients take turns, for less than a second each and in many rounds: what
// else the machine does falls on all of them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is the program: what measures, or with a first argument that is a role,
// one of the processes that it starts.
func run(args []string) error {
	if len(args) == 2 && args[0] == roleServer {
		return runServer(args[1])
	}
	if len(args) == 2 && args[0] == roleClient {
		return runClient(args[1])
	}
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	return o.run()
}

// options are the flags of the program.
type options struct {
	match                  *regexp.Regexp
	peers, out, cpuProfile string
	rounds, procs          int
	servers                int // connected at once where many are; no flag, the rows name it
	slot                   time.Duration
}

func parseOptions(args []string) (*options, error) {
	o := options{servers: manyServers}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	match := flags.String("match", "", "measure only what this `regexp` matches, of "+strings.Join(workNames(), ", "))
	flags.StringVar(&o.peers, "peers", strings.Join(peers(), ","), "measure only these clients")
	flags.StringVar(&o.out, "out", "", "write the table to this `file`, in Markdown (default: standard output)")
	flags.IntVar(&o.rounds, "rounds", 15, "how many times each client has its turn")
	flags.DurationVar(&o.slot, "slot", 500*time.Millisecond, "how long a turn takes")
	flags.IntVar(&o.procs, "procs", runtime.GOMAXPROCS(0), "GOMAXPROCS of every process")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "", "write a profile of the time of our client's last turn to this `file`")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	var err error
	if o.match, err = regexp.Compile(*match); err != nil {
		return nil, fmt.Errorf("-match: %w", err)
	}
	if o.rounds < 1 || o.procs < 1 || o.slot <= 0 {
		return nil, errors.New("-rounds, -procs and -slot must be positive")
	}
	for peer := range strings.SplitSeq(o.peers, ",") {
		if _, err := dialerOf(peer); err != nil {
			return nil, fmt.Errorf("-peers: %w", err)
		}
	}
	return &o, nil
}

func workNames() []string {
	var names []string
	for _, w := range works() {
		names = append(names, w.name)
	}
	return names
}

// chosen returns the works that -match matches.
func (o *options) chosen() ([]work, error) {
	list := slices.DeleteFunc(works(), func(w work) bool { return !o.match.MatchString(w.name) })
	if len(list) == 0 {
		return nil, fmt.Errorf("-match %s matches none of %s", o.match, strings.Join(workNames(), ", "))
	}
	return list, nil
}

// run measures and writes the results.
func (o *options) run() error {
	chosen, err := o.chosen()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := newResults(o, time.Now())
	for _, w := range chosen {
		fmt.Fprintln(os.Stderr, w.name)
		if r.rounds[w.name], err = interleave(ctx, r.peers, w, o); err != nil {
			return err
		}
	}
	if o.out == "" {
		return r.writeTable(os.Stdout)
	}
	return os.WriteFile(o.out, []byte(r.page()), 0o644)
}

// interleave gives each client its turn in every round.
func interleave(ctx context.Context, peers []string, w work, o *options) ([]round, error) {
	var rounds []round
	for len(rounds) < o.rounds {
		r := round{}
		for i := range peers {
			peer := peers[(i+len(rounds))%len(peers)] // each comes first in its turn
			var err error
			if r[peer], err = turn(ctx, peer, w, o); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", peer, w.name, err)
			}
		}
		rounds = append(rounds, r)
	}
	return rounds, nil
}

// turn lets a client do its part of a round, in a process of its own.
func turn(ctx context.Context, peer string, w work, o *options) (c cell, err error) {
	program, err := os.Executable()
	if err != nil {
		return c, err
	}
	told := order{Peer: peer, Work: w.name, Slot: o.slot, Servers: o.servers, Procs: o.procs}
	if peer == peerOurs {
		told.CPUProfile = o.cpuProfile
	}
	cmd := exec.CommandContext(ctx, program, roleClient, toJSON(told))
	cmd.Stderr = os.Stderr
	answer, err := cmd.Output()
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(answer, &c)
}
