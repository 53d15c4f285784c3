// Package skills has the commands about the skills of servers.
package skills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/skills"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// Commands returns the commands about skills.
func Commands(b *belt.Belt) []*cobra.Command {
	cmd := &cobra.Command{Use: "skills", RunE: b.WithServers(func(cmd *cobra.Command, c *belt.Catalog, servers []*config.Server, named bool) error {
		return list(cmd.Context(), b, c, servers, named)
	})}
	var yes bool
	accepting := one(b, "accept", func(ctx context.Context, f *found, _ []string) error { return accept(ctx, b, f, yes) })
	accepting.Flags().BoolVarP(&yes, "yes", "y", false, "accept without asking")
	cmd.AddCommand(accepting,
		one(b, "show", func(ctx context.Context, f *found, _ []string) error { return show(ctx, b, f) }),
		one(b, "write", func(ctx context.Context, f *found, rest []string) error { return write(ctx, b, f, b.Abs(rest[0])) }))
	return []*cobra.Command{cmd}
}

// A skill is one of a server, in the output of these commands.
type skill struct {
	Name        string          `json:"name"`
	Server      string          `json:"server"`
	URI         string          `json:"uri"`
	Description string          `json:"description"`
	Status      string          `json:"status"` // accepted, new, changed, rejected or refused
	Reason      string          `json:"reason,omitempty"`
	Files       []string        `json:"files,omitempty"`
	Changes     []ledger.Change `json:"changes,omitempty"`
	Text        string          `json:"text,omitempty"`
}

func shown(s *skills.Skill) skill {
	out := skill{Name: s.Name, Server: s.Server, URI: s.URI, Description: s.Description, Status: "accepted"}
	if s.Held != nil {
		out.Status = string(s.Held.Kind)
	}
	if s.Err != nil {
		out.Status, out.Reason = "refused", s.Err.Error()
	}
	return out
}

// cold has servers started though a daemon holds them: a daemon serves no skill that was not accepted.
func cold() *belt.OpenOptions { return &belt.OpenOptions{Cold: true} }

// list shows the skills of servers.
func list(ctx context.Context, b *belt.Belt, c *belt.Catalog, servers []*config.Server, named bool) error {
	rows := []skill{}
	var failed []error
	err := b.Visit(ctx, c, servers, cold(), "asking for skills", func(h *belt.Opened, s *config.Server, _ host.Status, err error) {
		if err == nil {
			l := skills.New(h.Host, nil).List(ctx, &content.ListOptions{Servers: []string{s.Name}})
			for i := range l.Items {
				rows = append(rows, shown(&l.Items[i]))
			}
			err = belt.ExplainCall(s, l.Err())
		}
		failed = append(failed, err)
	})
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b skill) int { return cmp.Compare(a.Name, b.Name) })
	t := &cli.Table{Headings: []string{"NAME", "STATUS", "DESCRIPTION"}}
	for _, r := range rows {
		t.Add(r.Name, r.Status, r.Description)
	}
	if err := b.Out.Found(t, map[string]any{"skills": rows}); err != nil {
		return err
	}
	return b.Failed(failed, named)
}

// A found is the skill that a command is about, while its server runs.
type found struct {
	*skills.Skill
	all    *skills.Catalogue
	ledger *ledger.Ledger // nil if there is none
}

// one returns a command that names a skill, and calls run with it.
func one(b *belt.Belt, use string, run func(ctx context.Context, f *found, rest []string) error) *cobra.Command {
	return &cobra.Command{Use: use, RunE: b.WithCatalog(func(cmd *cobra.Command, c *belt.Catalog, args []string) error {
		name, ctx := args[0], cmd.Context()
		server, _, err := content.ParseAddress(name)
		servers := slices.DeleteFunc(slices.Clone(c.Servers), func(s *config.Server) bool {
			return s.Name != server && (err == nil || !strings.HasPrefix(name, s.Name+"__"))
		})
		none := &cli.Error{Exit: cli.NotFound, Message: "there is no skill " + strconv.Quote(name), Cure: "mcpbelt skills"}
		if len(servers) == 0 {
			return none
		}
		var failed error = none
		err = b.Visit(ctx, c, servers, cold(), "asking for the skill", func(h *belt.Opened, s *config.Server, _ host.Status, err error) {
			if failed == nil {
				return
			}
			f := &found{all: skills.New(h.Host, nil), ledger: h.Ledger}
			if err == nil {
				f.Skill, err = f.all.Find(ctx, name)
			}
			switch unknown := (*skills.UnknownError)(nil); {
			case err == nil:
				failed = run(ctx, f, args[1:])
			case errors.Is(err, mcp.ErrResourceNotFound):
			case errors.As(err, &unknown):
				none.Message = unknown.Error()
			default:
				failed = belt.ExplainCall(s, err)
			}
		})
		return cmp.Or(err, failed)
	})}
}

// show shows all of a skill, so that a person can decide about it.
func show(ctx context.Context, b *belt.Belt, f *found) error {
	data, err := f.all.Read(ctx, f.Skill, mcp.SkillFile)
	if err != nil {
		return &cli.Error{Exit: cli.ToolError, Server: f.Server, Message: err.Error(), Err: err}
	}
	out := describe(b, f)
	out.Text = string(data)
	b.Out.Printf("\n%s\n", strings.TrimRight(out.Text, "\n"))
	return b.Out.Result(out)
}

// describe writes what is accepted of a skill: what its entry says.
func describe(b *belt.Belt, f *found) skill {
	out := shown(f.Skill)
	b.Out.StyleLine(cli.Heading, fmt.Sprintf("%s of server %s: %s", f.Name, f.Server, out.Status))
	b.Out.Printf("  %s\n  %s\n  front matter: %s\n", f.URI, f.Description, f.Frontmatter)
	if out.Reason != "" {
		b.Out.Printf("  %s\n", out.Reason)
	}
	for _, file := range f.Files {
		out.Files = append(out.Files, file.Path)
		b.Out.Printf("  %8d  %s\n", file.Size, file.Path)
	}
	if f.Held != nil {
		out.Changes = append(out.Changes, *f.Held)
		b.Out.Printf("%s", f.Held.Summary())
	}
	return out
}

// accept shows a skill, and accepts it when the user agrees.
func accept(ctx context.Context, b *belt.Belt, f *found, yes bool) error {
	out := describe(b, f)
	switch {
	case f.Err != nil:
		return &cli.Error{Exit: cli.NotAccepted, Server: f.Server, Message: f.Err.Error(), Err: f.Err}
	case f.ledger == nil:
		return cli.UsageError("there is no ledger to keep the decision in")
	case f.Held != nil:
		if err := b.Out.Agree(ctx, yes, "Let models load it, and files of it?", "decided"); err != nil {
			return err
		}
		if err := f.all.Accept(ctx, b.User(), f.Skill); err != nil {
			return err
		}
		if err := f.ledger.Persistent(); err != nil {
			return &cli.Error{Exit: cli.Failed, Message: "the decision cannot be kept: " + err.Error(), Err: err}
		}
	}
	b.Out.Printf("accepted %s\n", f.Name)
	out.Status = "accepted"
	return b.Out.Result(out)
}

// write writes the files of an accepted skill below a folder, at FOLDER/SERVER/PATH: so the identity of the
// skill, which is server and URI, is that of the folder.
func write(ctx context.Context, b *belt.Belt, f *found, folder string) error {
	if f.Held != nil || f.Err != nil {
		return &cli.Error{Exit: cli.NotAccepted, Server: f.Server, Message: "skill " + strconv.Quote(f.Name) + " is not accepted", Cure: "mcpbelt skills accept " + f.Name}
	}
	target := filepath.Join(folder, f.Server)
	for name := range strings.SplitSeq(strings.TrimPrefix(f.Root(), "skill://"), "/") {
		if name = strings.ReplaceAll(url.PathEscape(name), ":", "%3A"); strings.Trim(name, ".") == "" {
			name = "%" + name
		}
		target = filepath.Join(target, name)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(target, 0o755); err != nil {
		return &cli.Error{Exit: cli.Failed, Message: err.Error(), Cure: "remove what is there", Err: err}
	}
	if err := fill(ctx, f, target); err != nil {
		return &cli.Error{Exit: cli.Failed, Server: f.Server, Message: "nothing was written: " + err.Error(), Err: errors.Join(err, os.RemoveAll(target))}
	}
	b.Out.Printf("wrote %s into %s\n", plain.Number(len(f.Files), "file"), target)
	return b.Out.Result(map[string]any{"name": f.Name, "folder": target, "files": len(f.Files)})
}

// fill writes all files of a skill into a folder, out of which no path leads.
func fill(ctx context.Context, f *found, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, file := range f.Files {
		data, err := f.all.Read(ctx, f.Skill, file.Path)
		if err != nil {
			return err
		}
		if _, err := root.Lstat(file.Path); err == nil {
			return fmt.Errorf("to this disk, %s is another file of the skill", plain.Quote(file.Path))
		}
		if err := errors.Join(root.MkdirAll(path.Dir(file.Path), 0o755), root.WriteFile(file.Path, data, 0o644)); err != nil {
			return err
		}
	}
	return nil
}
