package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/transport"
)

func testCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use: "test",
		RunE: b.WithServer(func(cmd *cobra.Command, c *belt.Catalog, s *config.Server) error {
			list, err := examine(cmd, b, c, []*config.Server{s})
			if err != nil {
				return err
			}
			report := list[0].Report
			if err := showTest(b, report); err != nil {
				return err
			}
			return testError(s, report)
		}),
	}
}

// examineOne tests a server. What names a function says the command in its place, and what its process has
// written stands once in the report.
func examineOne(ctx context.Context, h *host.Host, s *config.Server) (*doctor.TestReport, error) {
	report, err := doctor.Test(ctx, h, s)
	if err != nil {
		return nil, err
	}
	exit, exited := errors.AsType[*transport.ExitError](report.Err)
	_, waits := errors.AsType[*host.LaunchNotAllowedError](report.Err)
	switch {
	case waits:
		report.Error = belt.Explain(s, report.Err).(*cli.Error).Message
	case exited && report.Stderr != "":
		silent := *exit
		silent.Stderr = ""
		report.Error = s.MaskError(&silent)
	case errors.Is(report.Err, context.DeadlineExceeded) && ctx.Err() != nil:
		report.Error = "it was not ready within --timeout"
	}
	for i, hint := range report.Hints {
		text := strings.Replace(hint.Text, " of this program: "+os.Getenv("PATH")+".", ".", 1) // which the user can look at
		switch hint.Code {
		case "launch_not_allowed":
			text = "The entry comes from a file of a project, or was added by a client of serve. Nothing of it is started before you have looked at the exact command: mcpbelt allow " + s.Name
		case "login_required":
			text = "The server wants you to log in: mcpbelt login " + s.Name
		case "tools_quarantined":
			text = "Some tools are held back since they are not those that were accepted: mcpbelt diff " + s.Name
		}
		report.Hints[i].Text = text
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return report, err
	}
	return report, nil
}

// testError returns why a test failed, with the likeliest cure.
func testError(s *config.Server, report *doctor.TestReport) error {
	if report.Success {
		return nil
	}
	err := belt.Explain(s, report.Err)
	e, ok := errors.AsType[*cli.Error](err)
	if !ok || e.Exit != cli.NotSent && e.Exit != cli.InvalidConfig {
		return err
	}
	e.Message, e.Cure = "server "+strconv.Quote(s.Name)+": "+report.Error, ""
	if len(report.Hints) > 0 && !strings.HasSuffix(report.Hints[0].Text, report.Error) {
		e.Cure = withoutWords(report.Hints[0].Text)
	}
	return e
}

// showTest writes the report of a test.
func showTest(b *belt.Belt, r *doctor.TestReport) error {
	b.Out.Style(cli.Heading, r.Server)
	if r.Success {
		b.Out.Style(cli.Good, " works")
	} else {
		b.Out.Style(cli.Bad, " does not work")
	}
	if r.Program != "" {
		b.Out.Printf(" (%s %s, protocol %s)", r.Program, r.Version, r.Protocol)
	}
	b.Out.Printf("\n")
	hints := r.Hints
	if !r.Success && len(hints) > 0 {
		hints = hints[1:] // the first one is the cure of the error
	}
	showDetails(b, r, hints)
	return b.Out.Result(r)
}

// showDetails writes how far a server came, what it offers, and what may be the matter.
func showDetails(b *belt.Belt, r *doctor.TestReport, hints []doctor.Hint) {
	for _, stage := range r.Stages {
		b.Out.Printf("  %s\n", stage)
	}
	if r.Success {
		b.Out.Printf("%s\n", plain.Number(len(r.Tools), "tool"))
	}
	for _, t := range r.Tools {
		b.Out.Printf("  %s", cmp.Or(t.RegisteredName, t.Name))
		if t.State != "listed" {
			b.Out.Style(cli.Warning, fmt.Sprintf(" (%s: %s)", t.State, t.Reason))
		}
		b.Out.Printf("\n")
	}
	for _, h := range hints {
		b.Out.StyleLine(cli.Warning, withoutWords(h.Text))
	}
	if r.Stderr != "" && !r.Success {
		b.Out.Printf("standard error:\n%s\n", r.Stderr)
	}
}

// withoutWords returns a hint without what stands on standard error, which is shown as a whole.
func withoutWords(hint string) string {
	text, _, _ := strings.Cut(hint, " Its last words: ")
	return text
}
