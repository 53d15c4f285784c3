package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
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
	Written bool     `json:"written"`
	Exact   bool     `json:"exact,omitempty"` // of disconnect: the file is byte for byte what it was
}

func connectCommand(b *belt.Belt) *cobra.Command {
	var yes, dryRun, project bool
	cmd := &cobra.Command{
		Use:   "connect CLIENT",
		Short: "Give another program all servers by one entry",
		Long: `Connect writes one entry into the config file of another program, which starts mcpbelt as
a server that has the tools of all others. It shows first what that starts, and keeps
the file as it was for mcpbelt disconnect. The entry holds no secret.

At a terminal it asks before it writes; elsewhere it writes only with --yes.`,
		Example: `  mcpbelt connect cursor --dry-run
  mcpbelt connect codex --yes
  mcpbelt connect claude-code --project --dry-run`,
		Args:              cli.Args(1, 1),
		ValidArgsFunction: completeClients(b),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := clientFile(b, args[0], project)
			if err != nil {
				return err
			}
			i, err := planConnection(b, l)
			if err != nil {
				return err
			}
			c := &connection{Client: l.Client, File: l.Path}
			for _, s := range i.Servers {
				if s.Skipped != nil {
					if err := edit.Change(cmd.Context(), l.Path, editOptions(b, l), func(f *edit.File) error { return foreign(f, l, "rename") }); err != nil {
						return err
					}
					return &cli.Error{Exit: cli.Usage, Message: s.Skipped.Error(), Cure: "mcpbelt disconnect " + clientName(l), Err: s.Skipped}
				}
				c.Launch = s.Launch.String()
				for _, r := range s.Remarks {
					c.Remarks = append(c.Remarks, r.String())
				}
			}
			if !b.Out.AsJSON {
				b.Out.Printf("%s would start, by an entry in %s:\n  %s\n", l.Client, l.Path, c.Launch)
			}
			if !dryRun {
				if err := b.Out.Agree(cmd.Context(), yes, "Write "+l.Path+"?", "written"); err != nil {
					return err
				}
				if err := write(cmd.Context(), b, l.Path, i); err != nil {
					return err
				}
				c.Written = true
			}
			if b.Out.AsJSON {
				return b.Out.JSON(c)
			}
			if c.Written {
				b.Out.Printf("connected %s. Start it again; to undo it: mcpbelt disconnect %s\n", l.Client, clientName(l))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&yes, "yes", "y", false, "write without asking")
	f.BoolVar(&dryRun, "dry-run", false, "show what would be written, and write nothing")
	f.BoolVar(&project, "project", false, "write the program's file in this folder, in place of the user's")
	return cmd
}

func disconnectCommand(b *belt.Belt) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "disconnect CLIENT",
		Short: "Undo what connect did",
		Long: `Disconnect takes the entry out of the config file of another program again. If the file
was not changed since, it is byte for byte what it was; otherwise the entry alone goes.`,
		Example:           "  mcpbelt connect codex --yes\n  mcpbelt disconnect codex",
		Args:              cli.Args(1, 1),
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
			if b.Out.AsJSON {
				return b.Out.JSON(c)
			}
			b.Out.Printf("disconnected %s\n", l.Client)
			if !c.Exact {
				b.Out.Printf("The file was changed since: the entry alone is gone.\n")
			}
			return nil
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
	var fit []config.Location
	for _, l := range found {
		if (l.Scope != config.ScopeUser) == project {
			fit = append(fit, l)
		}
	}
	if len(fit) == 0 {
		return config.Location{}, &cli.Error{Exit: cli.NotFound, Message: found[0].Client + " has no such file", Cure: "--project says which one is meant"}
	}
	l := pick(fit)
	if info, err := os.Stat(filepath.Dir(l.Path)); !project && (err != nil || !info.IsDir()) {
		return l, &cli.Error{Exit: cli.NotFound, Message: l.Client + " was never used here: there is no folder " + filepath.Dir(l.Path), Cure: "start it once"}
	}
	return l, nil
}

// planConnection returns what writing the entry would change.
func planConnection(b *belt.Belt, l config.Location) (*edit.Import, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"serve", "--stdio"}
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
	source := filepath.Join(dir, "mcpbelt.json")
	if err := os.WriteFile(source, entry, 0o600); err != nil {
		return nil, err
	}
	i, err := edit.PlanImport(source, l.Path, &edit.ImportOptions{
		From: &config.Options{Format: "mcpServers"}, To: editOptions(b, l),
	})
	if err != nil {
		return nil, &cli.Error{Exit: cli.InvalidConfig, Message: err.Error(), Cure: "nothing was written", Err: err}
	}
	return i, nil
}

// A backup is what is kept of a file that connect has changed.
type backup struct {
	File    string
	Existed bool
	Before  []byte
	After   []byte
}

// maxFile bounds a config file in bytes.
const maxFile = 16 << 20

// backupPath returns where the backup of a file is, empty if nothing is kept.
func backupPath(b *belt.Belt, file string) string {
	if b.Env.StateDir == "" {
		return ""
	}
	return filepath.Join(b.Env.StateDir, "connections", statedir.Name(file))
}

// write carries the plan out and keeps what the file was before.
func write(ctx context.Context, b *belt.Belt, file string, i *edit.Import) error {
	resolved, err := atomicfile.Resolve(file)
	if err != nil {
		return err
	}
	kept := backup{File: file}
	kept.Before, _, err = atomicfile.Read(resolved, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	kept.Existed = err == nil
	path := backupPath(b, file)
	if path == "" {
		return &cli.Error{Exit: cli.Failed, Message: "there is no folder for the file as it was", Cure: "set HOME"}
	}
	if err := kept.save(ctx, path); err != nil {
		return err
	}
	if err := i.Apply(ctx); err != nil {
		return err
	}
	if kept.After, _, err = atomicfile.Read(resolved, maxFile); err != nil {
		return err
	}
	return kept.save(ctx, path)
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
	resolved, err := atomicfile.Resolve(l.Path)
	if err != nil {
		return false, err
	}
	unlock, err := atomicfile.Lock(ctx, resolved)
	if err != nil {
		return false, err
	}
	now, _, err := atomicfile.Read(resolved, maxFile)
	if same := err == nil && kept.File == l.Path && kept.After != nil && string(now) == string(kept.After); same {
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
	notConnected := &cli.Error{Exit: cli.NotFound, Message: l.Client + " is not connected", Cure: "mcpbelt connect " + clientName(l)}
	if errors.Is(err, fs.ErrNotExist) {
		return false, notConnected
	}
	err = edit.Change(ctx, l.Path, editOptions(b, l), func(f *edit.File) error {
		if err := foreign(f, l, "remove"); err != nil {
			return err
		}
		return f.Remove(entryName)
	})
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
func foreign(f *edit.File, l config.Location, do string) error {
	r, err := f.Record(entryName)
	if err != nil || slices.Contains(r.Args, "serve") {
		return err
	}
	return &cli.Error{Exit: cli.Usage, Message: fmt.Sprintf("%s has a server %q of its own", l.Path, entryName), Cure: do + " it there"}
}
