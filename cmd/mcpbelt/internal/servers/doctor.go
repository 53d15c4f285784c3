package servers

import (
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// An examined is a server in the output of doctor.
type examined struct {
	Name   string             `json:"name"`
	Level  doctor.Level       `json:"level"`
	Report *doctor.TestReport `json:"report"`
}

func doctorCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use: "doctor",
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
			showDetails(b, e.Report, e.Report.Hints)
			continue
		}
		for _, h := range e.Report.Hints {
			b.Out.Printf("  %s\n", h.Text)
		}
	}
	return showProblems(b, c, list)
}
