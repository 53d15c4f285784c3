package clients

import (
	"cmp"
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// A source is a file in the output of import without arguments.
type source struct {
	Client  string       `json:"client"`
	File    string       `json:"file"`
	Scope   config.Scope `json:"scope"`
	Servers []string     `json:"servers"`

	location config.Location
}

// A plan is the output of import.
type plan struct {
	Source  string    `json:"source"`
	Target  string    `json:"target"`
	Servers []planned `json:"servers"`
	Changes bool      `json:"changes"` // the target is not as it would be
	Written bool      `json:"written"`
}

// A planned is a server in it.
type planned struct {
	Name    string   `json:"name"`
	Skipped string   `json:"skipped,omitempty"` // why it is left out
	Launch  string   `json:"launch,omitempty"`  // what starting it means
	Remarks []string `json:"remarks,omitempty"`
}

// An importing is what the flags of import say.
type importing struct {
	scope                     string
	yes, dryRun, replace, all bool
}

func importCommand(b *belt.Belt) *cobra.Command {
	o := &importing{}
	cmd := &cobra.Command{
		Use:               "import",
		ValidArgsFunction: completeClients(b),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.all && len(args) > 0:
				return cli.UsageError("--all takes the servers of all programs: name none")
			case o.all:
				return o.runAll(cmd, b)
			case len(args) == 0:
				return showSources(cmd, b)
			}
			from, err := sourceOf(b, args[0])
			if err != nil {
				return err
			}
			p, err := o.run(cmd, b, from, args[1:])
			if err != nil {
				return err
			}
			return b.Out.Result(p)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.scope, "scope", "s", "user", "whose file to write: local, project, rc or user")
	f.BoolVarP(&o.yes, "yes", "y", false, "write without asking")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be written, and write nothing")
	f.BoolVar(&o.replace, "replace", false, "put servers in the place of those of their name")
	f.BoolVar(&o.all, "all", false, "take the servers of all files of yours")
	cli.FixedFlag(cmd, "scope", "local", "project", "rc", "user")
	return cmd
}

// runAll takes over the servers of all files of the user.
func (o *importing) runAll(cmd *cobra.Command, b *belt.Belt) error {
	plans := []*plan{}
	for _, s := range sources(cmd, b) {
		if s.Scope != config.ScopeUser {
			continue
		}
		p, err := o.run(cmd, b, s.location, nil)
		if err != nil {
			return err
		}
		plans = append(plans, p)
	}
	return b.Out.Result(map[string][]*plan{"imports": plans})
}

// run takes over servers of a file, all if none is named.
func (o *importing) run(cmd *cobra.Command, b *belt.Belt, from config.Location, names []string) (*plan, error) {
	scope, err := cli.Scope(o.scope)
	if err != nil && b.ConfigFile == "" {
		return nil, err
	}
	to, err := b.WrittenFile(scope)
	if err != nil {
		return nil, err
	}
	if scope != config.ScopeLocal || b.ConfigFile != "" {
		scope = ""
	}
	io := &edit.ImportOptions{
		From:    &config.Options{Format: from.Format, Formats: belt.Formats(), Scope: from.Scope, Project: b.Env.Dir},
		To:      &config.Options{Formats: belt.Formats(), Scope: scope, Project: b.Env.Dir},
		Replace: o.replace, OwnKeys: true, Variable: belt.InputVariable,
	}
	if io.Names = names; len(names) == 0 {
		io.Names = nil
		if all, own := titles(cmd, b, from); len(own) < len(all) { // all but the gateway
			io.Names = own
		}
	}
	i, err := edit.PlanImport(from.Path, to, io)
	if err != nil {
		return nil, &cli.Error{Exit: cli.InvalidConfig, Message: err.Error(), Err: err}
	}
	for _, s := range i.Servers {
		if errors.Is(s.Skipped, &record.Error{Code: record.CodeNotFound}) {
			return nil, &cli.Error{Exit: cli.NotFound, Message: s.Skipped.Error(), Cure: "mcpbelt import " + cmp.Or(clientName(from), from.Path) + " --dry-run", Err: s.Skipped}
		}
	}
	p := planOf(i)
	p.show(b)
	if i.Changes() && !o.dryRun {
		if err := b.Out.Agree(cmd.Context(), o.yes, "Write "+to+"?", "written"); err != nil {
			return nil, err
		}
		if err := i.Apply(cmd.Context()); err != nil {
			return nil, err
		}
		p.Written = true
		b.Out.Printf("written: %s\n", to)
	}
	return p, nil
}

// sourceOf returns the file that an argument of import means; its format may not be known.
func sourceOf(b *belt.Belt, arg string) (config.Location, error) {
	if strings.ContainsAny(arg, `/\.`) {
		return config.Location{Path: b.Abs(arg)}, nil
	}
	found, err := placesOf(b, arg)
	if err != nil {
		return config.Location{}, err
	}
	l := pick(found)
	if !l.Exists {
		err = &cli.Error{Exit: cli.NotFound, Message: l.Client + " has no config file here", Cure: "name a file"}
	}
	return l, err
}

func planOf(i *edit.Import) *plan {
	p := &plan{Source: i.Source, Target: i.Target, Servers: []planned{}, Changes: i.Changes()}
	for _, s := range i.Servers {
		one := planned{Name: s.Name, Remarks: texts(s.Remarks)}
		if s.Skipped != nil {
			one.Skipped = s.Skipped.Error()
		}
		if s.Launch != nil {
			one.Launch = s.Launch.String()
		}
		p.Servers = append(p.Servers, one)
	}
	return p
}

func texts(remarks []edit.Remark) (list []string) {
	for _, r := range remarks {
		list = append(list, r.String())
	}
	return list
}

func (p *plan) show(b *belt.Belt) {
	b.Out.Printf("from %s\nto   %s\n", p.Source, p.Target)
	for _, s := range p.Servers {
		b.Out.Printf("\n")
		b.Out.StyleLine(cli.Heading, s.Name)
		if s.Skipped != "" {
			b.Out.StyleLine(cli.Warning, "  left out: "+s.Skipped)
		}
		for line := range strings.Lines(s.Launch) {
			b.Out.Printf("  %s\n", strings.TrimSuffix(line, "\n"))
		}
		for _, r := range s.Remarks {
			b.Out.StyleLine(cli.Warning, "  "+r)
		}
	}
	if !p.Changes {
		b.Out.Printf("\nNothing would change.\n")
	}
}

// sources returns where there are servers to take over.
func sources(cmd *cobra.Command, b *belt.Belt) []source {
	list := []source{}
	for _, l := range places(b) {
		if base := filepath.Base(l.Path); !l.Exists || base == ".mcp.json" || base == ".mcprc" { // those are ours, too
			continue
		}
		if _, own := titles(cmd, b, l); len(own) > 0 {
			list = append(list, source{Client: clientName(l), File: l.Path, Scope: l.Scope, Servers: own, location: l})
		}
	}
	return list
}

// titles returns the names of the servers in a file, and of those that connect has not written there; none if it cannot be read.
func titles(cmd *cobra.Command, b *belt.Belt, l config.Location) (all, own []string) {
	c, err := config.Load(cmd.Context(), l.Path, &config.Options{Lookup: b.Env.Lookup, Format: l.Format, Formats: belt.Formats(), AsWritten: true})
	if err != nil {
		return nil, nil
	}
	own = []string{}
	for _, s := range c.Servers {
		all = append(all, s.Title)
	}
	for _, s := range belt.WithoutGateway(c).Servers {
		own = append(own, s.Title)
	}
	return all, own
}

// showSources writes where there are servers to take over.
func showSources(cmd *cobra.Command, b *belt.Belt) error {
	list := sources(cmd, b)
	t := &cli.Table{Headings: []string{"CLIENT", "SCOPE", "SERVERS", "NAMES", "FILE"}, Empty: "No other program has servers here."}
	for _, s := range list {
		t.Add(s.Client, string(s.Scope), strconv.Itoa(len(s.Servers)), strings.Join(s.Servers, ", "), s.File)
	}
	return b.Out.Found(t, map[string][]source{"sources": list})
}
