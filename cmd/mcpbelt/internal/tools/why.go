package tools

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A check is a place on the way of a tool, in the output of why.
type check struct {
	Check  string `json:"check"`
	State  string `json:"state"` // ok, stops, note, or unknown behind what stops
	Detail string `json:"detail"`
	Cure   string `json:"cure,omitempty"`
}

// The values of check.State.
const (
	checkOK      = "ok"
	checkStops   = "stops"
	checkNote    = "note"
	checkUnknown = "unknown"
)

// An inquiry follows a tool from the config file to a model.
type inquiry struct {
	Server  string   `json:"server"`
	Tool    string   `json:"tool"`
	Offered bool     `json:"offered"` // nothing stops it
	Checks  []*check `json:"checks"`
}

func (i *inquiry) add(name, state, detail, cure string) {
	i.Checks = append(i.Checks, &check{name, state, detail, cure})
	i.Offered = i.Offered && state != checkStops
}

func whyCommand(b *belt.Belt) *cobra.Command {
	return &cobra.Command{
		Use:               "why",
		Args:              cli.Args(1, 2),
		ValidArgsFunction: b.CompleteTools,
		RunE: b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) error {
			if _, _, ok := splitName(args[0]); len(args) == 1 && !ok {
				server, err := b.ServerOf(c, args[0])
				if err != nil {
					return err
				}
				args = []string{server, args[0]}
			}
			t, err := findTarget(b, c, cmd, args)
			if err != nil {
				return err
			}
			i := &inquiry{Server: t.server.Name, Tool: t.tool, Offered: true}
			if err := i.run(cmd, b, c, t.server); err != nil {
				return err
			}
			i.show(b)
			err = b.Out.Result(i)
			if at := i.Checks[len(i.Checks)-1]; err == nil && at.Check == "list" && at.State == checkStops {
				err = &cli.Error{Exit: cli.NotFound, Server: i.Server, Message: at.Detail, Shown: true}
			}
			return err
		}),
	}
}

func (i *inquiry) run(cmd *cobra.Command, b *belt.Belt, c *belt.Catalog, s *config.Server) error {
	i.config(c, s)
	h, err := b.Open(cmd.Context(), c, []*config.Server{s}, &belt.OpenOptions{Cold: true})
	if err != nil {
		return err
	}
	defer h.Close()
	spinner := b.Out.Spin("asking " + s.Name)
	defer spinner.End()
	report, err := doctor.Test(cmd.Context(), h.Host, s)
	if err != nil {
		return err
	}
	if !report.Success {
		err := belt.Explain(s, report.Err)
		e, _ := errors.AsType[*cli.Error](err)
		i.add("connection", checkStops, e.Message, e.Cure)
		i.add("tool", checkUnknown, "the server cannot be asked for it", "")
		return cmd.Context().Err()
	}
	i.add("connection", checkOK, "the server has answered", "")
	if !i.tool(report, s) {
		return nil
	}
	offer := belt.Offered(cmd.Context(), h.Host, s)
	tools := slices.DeleteFunc(offer.Tools, func(t registry.Tool) bool { return t.Definition().Origin.Tool != i.Tool })
	if len(tools) == 1 && tools[0].Definition().ForModels() {
		i.policy(tools[0].Definition())
		i.providers(tools)
	}
	return offer.Err
}

// config tells of the file and the entry.
func (i *inquiry) config(c *belt.Catalog, s *config.Server) {
	from := s.Source.String()
	if client := c.Client(s.Source.File); client != "" {
		from += " (" + client + ", " + string(s.Source.Scope) + ")"
	}
	i.add("file", checkOK, "the server stands in "+from, "")
	for _, waits := range c.Waiting {
		if waits.Name == s.Name {
			i.add("scope", checkNote, waits.Source.String()+" hides it when that is allowed", "mcpbelt allow "+s.Name)
		}
	}
	for _, hidden := range c.Shadowed {
		if hidden.By == s {
			i.add("scope", checkNote, "it hides "+hidden.Server.Source.String(), "")
		}
	}
	if !s.Disabled {
		i.add("enabled", checkOK, "the server is switched on", "")
	} else {
		i.add("enabled", checkStops, "the server is switched off", "mcpbelt enable "+s.Name)
	}
}

// tool tells of what the entry, the gate and the ledger make of the tool, and reports
// whether the server has it.
func (i *inquiry) tool(report *doctor.TestReport, s *config.Server) bool {
	var names []string
	for _, t := range report.Tools {
		names = append(names, t.Name)
		if t.Name != i.Tool && t.RegisteredName != s.Name+"__"+i.Tool {
			continue
		}
		i.Tool = t.Name
		i.add("list", checkOK, "the server lists the tool", "")
		for _, f := range t.Findings {
			i.add("gate", checkNote, f.Severity.String()+" "+f.Field+": "+f.Detail, "")
		}
		switch t.State {
		case "filtered":
			i.add("filter", checkStops, t.Reason, `change "tools" in the entry`)
		case "rejected":
			i.add("gate", checkStops, t.Reason, "")
		case "quarantined":
			i.add("ledger", checkStops, t.Reason, "mcpbelt diff "+s.Name)
		default:
			i.add("ledger", checkOK, "the tool is called "+t.RegisteredName, "")
			if t.Reason != "" {
				i.add("apps", checkStops, t.Reason, "")
			}
		}
		return true
	}
	i.add("list", checkStops, "the server has no tool "+strconv.Quote(i.Tool), "it has "+strings.Join(names, ", "))
	return false
}

// policy says whether a call is asked about.
func (i *inquiry) policy(d *registry.Definition) {
	if h := d.Hints(); h.Annotated && h.Destructive {
		i.add("policy", checkNote, "the tool may destroy something: a call asks at a terminal, and needs --yes elsewhere", "")
	} else {
		i.add("policy", checkOK, "a call that you type does not ask", "")
	}
}

// providers tells what is lost of the tool.
func (i *inquiry) providers(tools []registry.Tool) {
	losses := lossesOf(i.Server, tools, providers())
	for _, p := range providers() {
		state, detail := checkOK, "takes it as it is"
		count := 0
		for _, l := range losses {
			switch {
			case l.Provider != p || !l.matters():
			case l.Effect == effectRejected:
				state, detail = checkStops, l.Detail
			default:
				count++
				state, detail = checkNote, strings.TrimSpace(l.Effect+" "+l.Path)+": "+l.Detail
			}
		}
		if state == checkStops { // of one provider, which is not all of them
			state = checkNote
			detail = "cannot be told of it: " + detail
		} else if count > 1 {
			detail += " (and " + strconv.Itoa(count-1) + " more: mcpbelt lint " + i.Server + ")"
		}
		i.add(string(p), state, detail, "")
	}
}

func (i *inquiry) show(b *belt.Belt) {
	if i.Offered {
		b.Out.StyleLine(cli.Good, i.Tool+" of "+i.Server+" is offered")
	} else {
		b.Out.StyleLine(cli.Bad, i.Tool+" of "+i.Server+" is not offered")
	}
	t := &cli.Table{Headings: []string{"CHECK", "STATE", "WHY"}}
	styles := map[string]cli.Style{checkOK: cli.Good, checkStops: cli.Bad, checkNote: cli.Warning, checkUnknown: cli.Faint}
	for _, c := range i.Checks {
		detail := c.Detail
		if c.Cure != "" {
			detail += ": " + c.Cure
		}
		t.Rows = append(t.Rows, []cli.Cell{{Text: c.Check}, {Text: c.State, Style: styles[c.State]}, {Text: detail}})
	}
	b.Out.Table(t)
}
