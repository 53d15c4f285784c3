package serve

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
)

// ask asks all stations that run, and calls f with the answer of each.
func ask[T any](ctx context.Context, b *belt.Belt, path string, f func(*belt.Station, T)) {
	for _, s := range b.Stations() {
		var answer T
		if s.Ask(ctx, http.MethodGet, path, &answer) == nil {
			f(s, answer)
		}
		s.Close()
	}
}

func approveCommand(b *belt.Belt) *cobra.Command {
	var deny bool
	cmd := &cobra.Command{
		Use: "approve",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return showWaiting(cmd.Context(), b)
			}
			verdict := map[bool]string{false: "approve", true: "deny"}[deny]
			for _, s := range b.Stations() {
				var answer struct{ Found bool }
				err := s.Ask(cmd.Context(), http.MethodPost, "approve?"+url.Values{"id": {args[0]}, "verdict": {verdict}}.Encode(), &answer)
				s.Close()
				if err != nil || !answer.Found {
					continue
				}
				b.Out.Printf("%s\n", map[bool]string{false: "approved", true: "denied"}[deny])
				return b.Out.Result(map[string]string{"id": args[0], "verdict": verdict})
			}
			e := &cli.Error{Exit: cli.NotFound, Message: "no call waits under " + strconv.Quote(args[0]), Cure: "mcpbelt approve lists those that do"}
			if c, err := b.Load(cmd.Context()); err == nil && slices.ContainsFunc(c.Config.Servers, func(s *config.Server) bool { return s.Title == args[0] }) {
				e.Cure = "it is a server: mcpbelt allow " + args[0] + " lets it be started"
			}
			return e
		},
	}
	cmd.Flags().BoolVar(&deny, "deny", false, "refuse the call")
	return cmd
}

// Waiting returns the calls that wait at the stations, and the servers there at which the user has to log in.
func Waiting(ctx context.Context, b *belt.Belt) (calls []waiting, logins map[string]bool) {
	calls, logins = []waiting{}, map[string]bool{}
	ask(ctx, b, "approvals", func(s *belt.Station, list []waiting) {
		for _, w := range list {
			w.Station = s.Name
			calls = append(calls, w)
		}
	})
	ask(ctx, b, "status", func(_ *belt.Station, list []status) {
		for _, one := range list {
			logins[one.Server] = logins[one.Server] || one.Stage == string(host.StageLogin)
		}
	})
	return calls, logins
}

// showWaiting lists the calls that wait.
func showWaiting(ctx context.Context, b *belt.Belt) error {
	calls, _ := Waiting(ctx, b)
	if len(calls) == 0 {
		b.Out.Printf("No call waits.\n")
	}
	for _, w := range calls {
		b.Out.Style(cli.Heading, w.ID)
		b.Out.Printf(" %s with %s\n", w.Tool, w.Args)
	}
	return b.Out.Result(map[string]any{"calls": calls})
}

func topCommand(b *belt.Belt) *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use: "top",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for {
				rows := []status{}
				ask(cmd.Context(), b, "status", func(s *belt.Station, list []status) {
					for _, one := range list {
						one.Station = s.Name
						rows = append(rows, one)
					}
				})
				if b.Out.AsJSON {
					return b.Out.JSON(map[string]any{"servers": rows})
				}
				again := b.Env.OutTerminal && b.Env.Var("TERM") != "dumb" && every > 0
				if again {
					b.Out.Exactly("\x1b[H\x1b[2J")
				}
				showStatus(b, rows)
				if !again || b.Out.Err() != nil {
					return nil
				}
				select {
				case <-cmd.Context().Done():
					return cmd.Context().Err()
				case <-time.After(every):
				}
			}
		},
	}
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "show it again after this `time`; 0: only once")
	return cmd
}

func showStatus(b *belt.Belt, rows []status) {
	if len(rows) == 0 {
		b.Out.Printf("Neither mcpbelt daemon nor mcpbelt serve runs with a server.\n")
	}
	t := &cli.Table{Headings: []string{"STATION", "SERVER", "STAGE", "PID", "TOOLS", "RUNNING", "CALLS", "FAILED"}}
	for _, r := range rows {
		pid := ""
		if r.PID != 0 {
			pid = strconv.Itoa(r.PID)
		}
		t.Add(r.Station, r.Server, r.Stage, pid, strconv.Itoa(r.Tools), strconv.Itoa(r.InFlight), strconv.FormatUint(r.Calls, 10), strconv.FormatUint(r.Failed, 10))
	}
	b.Out.Table(t)
}
