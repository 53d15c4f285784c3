package root

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/serve"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/trust"
)

// A letter is what waits for the user, in the output of inbox.
type letter struct {
	Kind    string `json:"kind"` // launch, tools, call or login
	Server  string `json:"server"`
	Text    string `json:"text"`
	Command string `json:"command"`          // that decides it
	Refuse  string `json:"refuse,omitempty"` // that refuses it
}

func inboxCommand(b *belt.Belt) *cobra.Command {
	var no bool
	cmd := &cobra.Command{
		Use: "inbox",
		RunE: func(cmd *cobra.Command, args []string) error {
			letters, err := inbox(cmd.Context(), b)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				return decide(cmd, b, letters, args[0], no)
			}
			t := &cli.Table{Headings: []string{"", "WHAT", "SERVER", "WHY", "COMMAND"}, Empty: "Nothing waits."}
			for i, l := range letters {
				t.Add(strconv.Itoa(i+1), l.Kind, l.Server, l.Text, l.Command)
			}
			return b.Out.Found(t, map[string][]letter{"waiting": letters})
		},
	}
	cmd.Flags().BoolVar(&no, "no", false, "refuse it")
	return cmd
}

// inbox returns all that waits.
func inbox(ctx context.Context, b *belt.Belt) ([]letter, error) {
	letters := []letter{}
	c, err := b.Load(ctx)
	if err != nil {
		return nil, err
	}
	launches, err := trust.Launches(ctx, b, c)
	if err != nil {
		return nil, err
	}
	for _, l := range launches {
		s, err := c.FindLaunch(l.Server)
		if err != nil {
			return nil, err
		}
		letters = append(letters, letter{"launch", l.Server, "it wants to start " + belt.What(s), "mcpbelt allow " + l.Server, "mcpbelt allow --deny " + l.Server})
	}
	held, err := trust.Held(ctx, b, c)
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		letters = append(letters, letter{"tools", h.Server, h.Why, "mcpbelt accept " + h.Server, "mcpbelt reject " + h.Server})
	}
	calls, logins := serve.Waiting(ctx, b)
	for _, w := range calls {
		letters = append(letters, letter{"call", w.Server, w.Tool + " with " + string(w.Args), "mcpbelt approve " + w.ID, "mcpbelt approve --deny " + w.ID})
	}
	looks := b.Looks()
	for _, s := range c.Servers {
		if l, _ := belt.LookAt(looks, s); !s.Disabled && (l.Status == cli.LoginNeeded.Code() || logins[s.Name]) {
			letters = append(letters, letter{"login", s.Name, "it wants you to log in", "mcpbelt login " + s.Name, ""})
		}
	}
	return letters, nil
}

// decide runs the command of one of the letters.
func decide(cmd *cobra.Command, b *belt.Belt, letters []letter, number string, no bool) error {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(letters) {
		return &cli.Error{Exit: cli.NotFound, Message: "nothing waits under the number " + number, Cure: "mcpbelt inbox lists what does"}
	}
	l := letters[n-1]
	line := l.Command
	if no {
		line = l.Refuse
	}
	switch {
	case line == "":
		return cli.UsageError("a login waits for you alone, and needs no refusal: mcpbelt inbox lists what else waits")
	case !b.Out.CanAsk(): // the number may be another one's by now
		return &cli.Error{Exit: cli.ApprovalNeeded, Server: l.Server, Message: "numbers change, and decide at a terminal only", Cure: line}
	case l.Kind == "call" && !no:
		if err := b.Out.Agree(cmd.Context(), false, "Make the call "+l.Text+"?", "decided"); err != nil {
			return err
		}
	}
	other, args, err := cmd.Root().Find(strings.Fields(line)[1:])
	if err == nil {
		err = other.ParseFlags(args)
	}
	if err != nil {
		return err
	}
	other.SetContext(cmd.Context())
	return other.RunE(other, other.Flags().Args())
}
