// Package servers has the commands about configured servers: which there are, what is
// wrong with one, and changes of the config files.
package servers

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// Commands returns the commands about servers.
func Commands(b *belt.Belt) []*cobra.Command {
	return append(changeCommands(b), listCommand(b), addCommand(b), findCommand(b), getCommand(b), doctorCommand(b))
}

// A listing is a server in the output of list.
type listing struct {
	Name        string       `json:"name"`
	Title       string       `json:"title,omitempty"` // as written, if that is another one
	Description string       `json:"description,omitempty"`
	Transport   string       `json:"transport,omitempty"`
	What        string       `json:"what,omitempty"` // command or URL, with secrets masked
	Status      string       `json:"status"`
	Scope       config.Scope `json:"scope,omitempty"`
	File        string       `json:"file"`
	Line        int          `json:"line,omitempty"`
	Client      string       `json:"client,omitempty"`
	HiddenBy    string       `json:"hiddenBy,omitempty"` // file:line of the entry that counts
	Tools       *int         `json:"tools,omitempty"`    // if the server is ready, or was when it was seen
	Seen        *belt.Look   `json:"seen,omitempty"`     // how it stood when a command last looked
	Error       string       `json:"error,omitempty"`
	Exit        string       `json:"exit,omitempty"` // with --live: the code of the error
	server      *config.Server
}

// The values of listing.Status without --live; with it those of host.Stage, and "failed".
const (
	statusConfigured = "configured"
	statusDisabled   = "disabled"
	statusInvalid    = "invalid"
	statusHidden     = "hidden"
	statusFailed     = "failed"
)

func listCommand(b *belt.Belt) *cobra.Command {
	var live, all bool
	cmd := &cobra.Command{
		Use: "list",
		RunE: b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) error {
			rows, err := listings(c, args, all)
			if err == nil && live {
				err = ask(cmd, b, c, rows)
			}
			if err != nil {
				return err
			}
			if !live {
				remember(b, rows)
			}
			return show(b, c, rows)
		}),
	}
	cmd.Flags().BoolVar(&live, "live", false, "start the servers, and say how each does")
	cmd.Flags().BoolVar(&all, "all", false, "show entries that are hidden by others of their name, too")
	return cmd
}

// listings returns what is known of the servers of the given names, or of all, without
// asking them.
func listings(c *belt.Catalog, names []string, all bool) ([]*listing, error) {
	servers := c.Servers
	if len(names) > 0 {
		servers = nil
		for _, name := range names {
			s, err := c.Find(name)
			if err != nil {
				return nil, err
			}
			servers = append(servers, s)
		}
	}
	var rows []*listing
	for _, s := range servers {
		rows = append(rows, listingOf(c, s))
	}
	if len(names) == 0 {
		for _, s := range c.Waiting {
			row := listingOf(c, s)
			row.Status, row.Error = string(host.StageNotAllowed), "it hides the one above when it is allowed: mcpbelt allow "+s.Name
			rows = append(rows, row)
		}
	}
	for _, hidden := range c.Shadowed {
		if all && len(names) == 0 && !slices.Contains(c.Servers, hidden.Server) {
			row := listingOf(c, hidden.Server)
			row.Status, row.HiddenBy = statusHidden, hidden.By.Source.String()
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func listingOf(c *belt.Catalog, s *config.Server) *listing {
	row := &listing{
		Name: s.Name, Description: s.Description, Transport: s.Transport, What: belt.What(s), Status: statusConfigured,
		Scope: s.Source.Scope, File: s.Source.File, Line: s.Source.Line, Client: c.Client(s.Source.File), server: s,
	}
	if s.Title != s.Name {
		row.Title = s.Title
	}
	switch {
	case s.Disabled:
		row.Status = statusDisabled
	case s.Err != nil:
		row.Status, row.Error = statusInvalid, s.MaskError(s.Err)
	}
	return row
}

// ask starts the servers of the rows that can be, and adds how each does.
func ask(cmd *cobra.Command, b *belt.Belt, c *belt.Catalog, rows []*listing) error {
	var servers []*config.Server
	of := map[*config.Server]*listing{}
	for _, row := range rows {
		if row.Status == statusConfigured {
			servers = append(servers, row.server)
			of[row.server] = row
		}
	}
	return b.Visit(cmd.Context(), c, servers, nil, "asking "+plain.Number(len(servers), "server"), func(_ *belt.Opened, s *config.Server, status host.Status, err error) {
		row := of[s]
		row.Status, row.Error = string(status.Stage), ""
		if status.Stage == host.StageReady {
			row.Tools = &status.Tools
		}
		if err != nil {
			row.Error = err.Error()
			e, _ := errors.AsType[*cli.Error](err)
			row.Exit = e.Exit.Code()
			row.Status = statusOf(row.Exit)
		}
	})
}

// remember adds how the servers stood when they were seen last.
func remember(b *belt.Belt, rows []*listing) {
	looks := b.Looks()
	for _, row := range rows {
		if l, ok := belt.LookAt(looks, row.server); ok && row.Status == statusConfigured {
			row.Seen = &l
			if l.Status == string(host.StageReady) {
				row.Tools = &l.Tools
			}
		}
	}
}

// show writes the rows.
func show(b *belt.Belt, c *belt.Catalog, rows []*listing) error {
	t := &cli.Table{Headings: []string{"NAME", "STATUS", "TOOLS", "WHAT", "FROM"}}
	for _, row := range rows {
		tools := ""
		if row.Tools != nil {
			tools = strconv.Itoa(*row.Tools)
		}
		from := cmp.Or(row.Client, row.File)
		if row.Scope != config.ScopeUser {
			from += ", " + string(row.Scope)
		}
		if row.HiddenBy != "" {
			from += ", by " + row.HiddenBy
		}
		t.Rows = append(t.Rows, []cli.Cell{{Text: row.Name}, statusCell(b, row), {Text: tools}, {Text: row.What}, {Text: from, Style: cli.Faint}})
	}
	b.Out.Table(t)
	for _, row := range rows {
		if row.Error != "" {
			b.Out.StyleLine(cli.Bad, row.Name+": "+row.Error)
		}
	}
	return showProblems(b, c, rows)
}

// statusCell returns how a server stands, or stood when it was seen last.
func statusCell(b *belt.Belt, row *listing) cli.Cell {
	status, when := row.Status, ""
	if row.Seen != nil {
		status, when = statusOf(row.Seen.Status), ", "+ago(b.Env.Now().Sub(row.Seen.At))
	}
	words := map[string]string{string(host.StageLogin): "needs login", string(host.StageNotAllowed): "not allowed"}
	return cli.Cell{Text: cmp.Or(words[status], status) + when, Style: styleOf(status)}
}

// statusOf returns the status of a server that was asked, with the code of an exit or ready.
func statusOf(code string) string {
	known := map[string]host.Stage{string(host.StageReady): host.StageReady, cli.LoginNeeded.Code(): host.StageLogin, cli.ApprovalNeeded.Code(): host.StageNotAllowed}
	return string(cmp.Or(known[code], statusFailed))
}

// ago writes how long ago something was.
func ago(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= unit.of {
			return strconv.Itoa(int(d/unit.of)) + unit.name + " ago"
		}
	}
	return "just now"
}

// showProblems says that there are no servers if that is so, and which files cannot be read. It ends
// the output of what was found of servers.
func showProblems[T any](b *belt.Belt, c *belt.Catalog, servers []T) error {
	output := struct {
		Servers  []T      `json:"servers"`
		Problems []string `json:"problems,omitempty"`
	}{Servers: append([]T{}, servers...)}
	if len(servers) == 0 {
		b.Out.Printf("No servers are configured. Add one: mcpbelt add NAME -- COMMAND\n")
	}
	for _, p := range c.Problems {
		b.Out.StyleLine(cli.Warning, "cannot be read: "+p.Error())
		output.Problems = append(output.Problems, p.Error())
	}
	return b.Out.Result(output)
}

func styleOf(status string) cli.Style {
	switch status {
	case string(host.StageReady):
		return cli.Good
	case statusInvalid, statusFailed:
		return cli.Bad
	case statusDisabled, statusHidden:
		return cli.Faint
	case string(host.StageLogin), string(host.StageNotAllowed), string(host.StageQuarantined):
		return cli.Warning
	}
	return cli.Normal
}
