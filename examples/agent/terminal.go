package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/ask"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A Terminal is where the user sees what goes on, and is asked. It is the
// registry's approver.
type Terminal struct {
	policy registry.Approver // says which calls the user is asked about
	log    *log.Logger
	asking sync.Mutex // held for a question and its answer
	answer <-chan string
}

// newTerminal returns a terminal that reads the user's answers until ctx ends.
func newTerminal(ctx context.Context, in io.Reader, out io.Writer, policy registry.Approver) *Terminal {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return &Terminal{policy: policy, log: log.New(out, "agent: ", 0), answer: lines}
}

// Say shows a line. Names, arguments and messages are those of models and servers, so
// what could deceive the user is made visible.
func (t *Terminal) Say(format string, args ...any) {
	t.log.Print(ask.Plain(fmt.Sprintf(format, args...)))
}

// Approve implements [registry.Approver]: it asks the user for what the policy does
// not decide. One question is on the terminal at a time.
func (t *Terminal) Approve(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
	d, err := t.policy.Approve(ctx, req)
	if err != nil || d.Verdict != approval.Ask {
		return d, err
	}
	t.asking.Lock()
	defer t.asking.Unlock()
	t.Say("approve the call %s %s? [y/n]", req.Tool.Name, req.Args)
	select {
	case line, ok := <-t.answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return approval.Decision{Verdict: approval.Allow}, nil
		}
		if !ok {
			return approval.Decision{Reason: "no user is there to approve it"}, nil
		}
		return approval.Decision{Reason: "the user refused it"}, nil
	case <-ctx.Done():
		return approval.Decision{}, context.Cause(ctx)
	}
}

// Progress shows what a tool reports. Two calls of one tool are told apart by their ids.
func (t *Terminal) Progress(c profile.Call, p *mcp.ProgressParams) {
	done := fmt.Sprint(p.Progress)
	if p.Total > 0 {
		done += fmt.Sprint(" of ", p.Total)
	}
	t.Say("%s (%s): %s %s", c.Name, c.ID, done, p.Message)
}

// Login shows where the user has to log in.
func (t *Terminal) Login(what, url string) {
	t.Say("%s waits for a login: %s", what, cmp.Or(url, "(it was declined, or has no address)"))
}
