package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/statedir"
)

// entryName is what mcpbelt is called in the files of other programs.
const entryName = "mcpbelt"

// A connection is the output of connect and disconnect.
type connection struct {
	Client  string   `json:"client"`
	File    string   `json:"file"`
	Launch  string   `json:"launch,omitempty"` // of connect: what the program would start
	Remarks []string `json:"remarks,omitempty"`
	Without []string `json:"without,omitempty"` // servers that the program has itself
	Written bool     `json:"written"`
	Exact   bool     `json:"exact,omitempty"` // of disconnect: the file is byte for byte what it was
}

func connectCommand(b *belt.Belt) *cobra.Command {
	var yes, dryRun, project bool
	cmd := &cobra.Command{
		Use:               "connect",
		ValidArgsFunction: completeClients(b),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return showConnected(cmd.Context(), b)
			}
			l, err := clientFile(b, args[0], project)
			if err != nil {
				return err
			}
			if info, err := os.Stat(filepath.Dir(l.Path)); !project && (err != nil || !info.IsDir()) {
				return &cli.Error{Exit: cli.NotFound, Message: l.Client + " was never used here: there is no folder " + filepath.Dir(l.Path), Cure: "start it once"}
			}
			p, err := planConnection(b, l)
			if err != nil {
				return err
			}
			to := p.Servers[0]
			if to.Skipped != nil {
				if err := foreign(cmd.Context(), edit.OpenFileStore(l.Path, editOptions(b, l)), l, "rename"); err != nil {
					return err
				}
				b.Out.Printf("%s is connected already; to undo it: mcpbelt disconnect %s\n", l.Client, clientName(l))
				return b.Out.Result(&connection{Client: l.Client, File: l.Path})
			}
			c := &connection{Client: l.Client, File: l.Path, Launch: to.Launch.String(), Remarks: texts(to.Remarks)}
			b.Out.Printf("%s would start, by an entry in %s:\n  %s\n", l.Client, l.Path, strings.ReplaceAll(c.Launch, "\n", "\n  "))
			if all, err := b.Load(cmd.Context()); err == nil {
				if _, c.Without = all.Without(clientName(l)); len(c.Without) > 0 {
					b.Out.Printf("It has these itself, so they are left out: %s\n", strings.Join(c.Without, ", "))
				}
			}
			if dryRun || !yes {
				p.show(cmd.Context(), b, l)
			}
			if !dryRun {
				if err := b.Out.Agree(cmd.Context(), yes, "Write "+l.Path+"?", "written"); err != nil {
					return err
				}
				if err := p.write(cmd.Context(), b); err != nil {
					return err
				}
				c.Written = true
				b.Out.Printf("connected %s. Start it again; to undo it: mcpbelt disconnect %s\n", l.Client, clientName(l))
			}
			return b.Out.Result(c)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&yes, "yes", "y", false, "write without asking")
	f.BoolVar(&dryRun, "dry-run", false, "show what would be written, and write nothing")
	f.BoolVar(&project, "project", false, "write the program's file in this folder, in place of the user's")
	return cmd
}

// showConnected lists the programs that are connected.
func showConnected(ctx context.Context, b *belt.Belt) error {
	list := []connection{}
	t := &cli.Table{Headings: []string{"CLIENT", "SCOPE", "FILE"}, Empty: "No program is connected: mcpbelt connect CLIENT"}
	for _, l := range places(b) {
		o := editOptions(b, l)
		o.AsWritten = true
		c, err := config.Load(ctx, l.Path, o)
		if err == nil && slices.ContainsFunc(c.Servers, func(s *config.Server) bool { return s.Title == entryName && slices.Contains(s.Args, "serve") }) {
			list = append(list, connection{Client: l.Client, File: l.Path})
			t.Add(clientName(l), string(l.Scope), l.Path)
		}
	}
	return b.Out.Found(t, map[string][]connection{"connections": list})
}

func disconnectCommand(b *belt.Belt) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:               "disconnect",
		ValidArgsFunction: completeClients(b),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := clientFile(b, args[0], project)
			if err != nil {
				return err
			}
			c := &connection{Client: l.Client, File: l.Path, Written: true}
			if c.Exact, err = undo(cmd.Context(), b, l); err != nil {
				return err
			}
			b.Out.Printf("disconnected %s\n", l.Client)
			if !c.Exact {
				b.Out.Printf("The file was changed since: the entry alone is gone.\n")
			}
			return b.Out.Result(c)
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "the program's file in this folder, in place of the user's")
	return cmd
}

// clientFile returns the file of a program that connect writes.
func clientFile(b *belt.Belt, name string, project bool) (config.Location, error) {
	found, err := placesOf(b, name)
	if err != nil {
		return config.Location{}, err
	}
	fit := slices.DeleteFunc(slices.Clone(found), func(l config.Location) bool { return (l.Scope != config.ScopeUser) != project })
	switch {
	case len(fit) > 0:
		return pick(fit), nil
	case project:
		return config.Location{}, &cli.Error{Exit: cli.NotFound, Message: found[0].Client + " has no file for one folder", Cure: "leave out --project"}
	}
	return config.Location{}, &cli.Error{Exit: cli.NotFound, Message: found[0].Client + " has files for single folders alone", Cure: "add --project for the one in this folder"}
}

// A connecting is what writing the entry does to the file of a program.
type connecting struct {
	*edit.Import
	kept backup
}

// A backup is what is kept of a file that connect changes.
type backup struct {
	File    string
	Existed bool
	Before  []byte
	After   []byte
}

// planConnection returns what writing the entry would change.
func planConnection(b *belt.Belt, l config.Location) (*connecting, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"serve", "--stdio", "--client", clientName(l)}
	if b.ConfigFile != "" {
		args = append(args, "--config", b.Abs(b.ConfigFile))
	}
	entry, err := json.Marshal(map[string]any{"mcpServers": map[string]any{entryName: map[string]any{"command": program, "args": args}}})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mcpbelt-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p := &connecting{kept: backup{File: l.Path}}
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, entry, 0o600); err != nil {
		return nil, err
	}
	p.Import, err = edit.PlanImport(source, l.Path, &edit.ImportOptions{From: &config.Options{Format: "mcpServers"}, To: editOptions(b, l)})
	if err != nil {
		return nil, &cli.Error{Exit: cli.InvalidConfig, Message: err.Error(), Cure: "nothing was written", Err: err}
	}
	p.kept.Before, p.kept.After = p.Texts()
	p.kept.Existed = p.kept.Before != nil
	return p, nil
}

// show writes how the file would change, without the secrets in it.
func (p *connecting) show(ctx context.Context, b *belt.Belt, l config.Location) {
	before, err := config.Parse(ctx, l.Path, p.kept.Before, &config.Options{Format: l.Format, Formats: belt.Formats(), AsWritten: true})
	if err != nil {
		before = &config.Config{} // there is no file, or it is empty
	}
	hide := belt.Redact(before.Servers...)
	const most = 200 // bytes of a line: some programs write their file as one
	var lines []string
	for line := range strings.Lines(string(diff.Diff(l.Path, []byte(hide(string(p.kept.Before))), l.Path+" (new)", []byte(hide(string(p.kept.After)))))) {
		lines = append(lines, plain.Cut(strings.TrimRight(line, "\r\n"), most))
	}
	b.Show([]belt.Part{{Text: strings.Join(lines, "\n")}})
}

// write carries the plan out, and keeps what the file was before.
func (p *connecting) write(ctx context.Context, b *belt.Belt) error {
	path := backupPath(b, p.kept.File)
	if path == "" {
		return &cli.Error{Exit: cli.Failed, Message: "there is no folder for the file as it was", Cure: "set HOME"}
	}
	if err := p.kept.save(ctx, path); err != nil {
		return err
	}
	return p.Apply(ctx)
}

// backupPath returns where the backup of a file is, empty if nothing is kept.
func backupPath(b *belt.Belt, file string) string {
	if b.Env.StateDir == "" {
		return ""
	}
	return filepath.Join(b.Env.StateDir, "connections", statedir.Name(file))
}

func (k *backup) save(ctx context.Context, path string) error {
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := atomicfile.Lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = atomicfile.Replace(ctx, path, data, 0o600)
	return err
}

// undo takes the entry out of a file, and reports whether the file is what it was.
func undo(ctx context.Context, b *belt.Belt, l config.Location) (exact bool, err error) {
	path := backupPath(b, l.Path)
	var kept backup
	if data, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(data, &kept) // what is not sound counts as none
	}
	notConnected := &cli.Error{Exit: cli.NotFound, Message: l.Client + " is not connected", Cure: "mcpbelt connect " + clientName(l)}
	if _, err := os.Stat(l.Path); errors.Is(err, os.ErrNotExist) {
		return false, notConnected
	}
	resolved, err := atomicfile.Resolve(l.Path)
	if err != nil {
		return false, err
	}
	unlock, err := atomicfile.Lock(ctx, resolved)
	if err != nil {
		return false, err
	}
	now, err := os.ReadFile(resolved)
	if err == nil && kept.File == l.Path && kept.After != nil && string(now) == string(kept.After) {
		if kept.Existed {
			_, err = atomicfile.Replace(ctx, resolved, kept.Before, 0o600)
		} else {
			err = os.Remove(resolved)
		}
		unlock()
		if err == nil {
			err = os.Remove(path)
		}
		return true, err
	}
	unlock()
	store := edit.OpenFileStore(l.Path, editOptions(b, l))
	if err = foreign(ctx, store, l, "remove"); err == nil {
		_, err = record.Remove(ctx, store, entryName)
	}
	if errors.Is(err, &record.Error{Code: record.CodeNotFound}) {
		return false, notConnected
	}
	if err == nil && path != "" {
		_ = os.Remove(path) // it is of no use any more
	}
	return false, err
}

func editOptions(b *belt.Belt, l config.Location) *config.Options {
	return &config.Options{Format: l.Format, Formats: belt.Formats(), Project: b.Env.Dir}
}

// foreign returns an error if the entry with our name does not start mcpbelt serve: the user wrote it.
func foreign(ctx context.Context, store record.Store, l config.Location, do string) error {
	s, err := record.Find(ctx, store, entryName)
	if err != nil || slices.Contains(s.Record.Args, "serve") {
		return err
	}
	return &cli.Error{Exit: cli.Usage, Message: fmt.Sprintf("%s has a server %q of its own", l.Path, entryName), Cure: do + " it there"}
}
