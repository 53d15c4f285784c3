package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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

// An examined is a server in the output of doctor.
type examined struct {
	Name   string             `json:"name"`
	Level  doctor.Level       `json:"level"`
	Report *doctor.TestReport `json:"report"`
}

func doctorCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Aliases: []string{"test"},
		RunE: b.WithServers(func(cmd *cobra.Command, c *belt.Catalog, servers []*config.Server, named bool) error {
			list, err := examine(cmd, b, c, servers)
			if err != nil {
				return err
			}
			if err := showExamined(b, c, list, named && len(list) == 1); err != nil {
				return err
			}
			unhealthy := 0
			for _, e := range list {
				if e.Level == doctor.LevelUnhealthy {
					unhealthy++
				}
			}
			if unhealthy > 0 {
				return &cli.Error{Exit: cli.Unhealthy, Message: strconv.Itoa(unhealthy) + " of " + strconv.Itoa(len(list)) + " servers do not work", Shown: true}
			}
			return nil
		}),
	}
}

// examine tests the servers.
func examine(cmd *cobra.Command, b *belt.Belt, c *belt.Catalog, servers []*config.Server) ([]*examined, error) {
	list := make([]*examined, len(servers))
	err := b.Each(cmd.Context(), c, servers, &belt.OpenOptions{Cold: true}, "testing "+plain.Number(len(servers), "server"), func(h *belt.Opened, s *config.Server) {
		report, err := examineOne(cmd.Context(), h.Host, s)
		if err != nil {
			return // the command has ended
		}
		e := &examined{Name: s.Name, Level: doctor.LevelHealthy, Report: report}
		switch {
		case !report.Success:
			e.Level = doctor.LevelUnhealthy
		case len(report.Hints) > 0:
			e.Level = doctor.LevelDegraded
		}
		b.Looked(s, len(report.Tools), belt.Explain(s, report.Err))
		list[slices.Index(servers, s)] = e
	})
	return list, err
}

func showExamined(b *belt.Belt, c *belt.Catalog, list []*examined, detailed bool) error {
	for _, e := range list {
		style := map[doctor.Level]cli.Style{doctor.LevelHealthy: cli.Good, doctor.LevelDegraded: cli.Warning, doctor.LevelUnhealthy: cli.Bad}[e.Level]
		const widest = len(doctor.LevelUnhealthy)
		b.Out.Style(style, string(e.Level))
		b.Out.Printf("%*s", widest-len(e.Level)+2, "")
		b.Out.StyleLine(cli.Heading, e.Name)
		if e.Report.Error != "" {
			b.Out.Printf("  %s\n", e.Report.Error)
		}
		if detailed {
			showDetails(b, e.Report)
			continue
		}
		for _, h := range e.Report.Hints {
			b.Out.Printf("  %s\n", h.Text)
		}
	}
	return showProblems(b, c, list)
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

// showDetails writes how far a server came, what it offers, and what may be the matter.
func showDetails(b *belt.Belt, r *doctor.TestReport) {
	if r.Program != "" {
		b.Out.Printf("  %s %s, protocol %s\n", r.Program, r.Version, r.Protocol)
	}
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
	for _, h := range r.Hints {
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
