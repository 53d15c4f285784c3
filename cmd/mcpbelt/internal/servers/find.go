package servers

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/catalog"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
)

// A hit is a server in the output of find.
type hit struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Ways        string `json:"ways"` // remote, and types of packages
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	Status      string `json:"status,omitempty"` // active or deprecated
	Message     string `json:"statusMessage,omitempty"`
}

func findCommand(b *belt.Belt) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "find",
		RunE: func(cmd *cobra.Command, args []string) error {
			words := strings.Fields(strings.ToLower(strings.Join(args, " ")))
			if len(words) == 0 {
				return cli.UsageError("find needs a word: mcpbelt find WORD...")
			}
			r, err := catalog.Open(addressOf(b, address))
			if err != nil {
				return err
			}
			found, more, err := r.Find(cmd.Context(), words)
			if err != nil {
				return err
			}
			hits := []hit{}
			t := &cli.Table{Headings: []string{"NAME", "VERSION", "RUNS", "DESCRIPTION"}, Empty: "The registry has no server with these words."}
			for _, s := range found {
				hits = append(hits, hit{s.Name, s.Version, s.Ways(), s.Title, s.Description, s.Status, s.StatusMessage})
				t.Add(s.Name, s.Version, s.Ways(), s.Description)
				if s.Status == "deprecated" {
					t.Rows[len(t.Rows)-1][3] = cli.Cell{Text: strings.TrimSuffix("deprecated: "+s.StatusMessage, ": "), Style: cli.Warning}
				}
			}
			err = b.Out.Found(t, map[string]any{"servers": hits, "more": more})
			if more {
				b.Out.Printf("There may be more: add a word.\n")
			}
			return err
		},
	}
	registryFlag(cmd, &address)
	return cmd
}

func registryFlag(cmd *cobra.Command, address *string) {
	cmd.Flags().StringVar(address, "registry", "", "the `URL` of another registry than the official one (default: MCPBELT_REGISTRY of the environment)")
}

func addressOf(b *belt.Belt, address string) string {
	return cmp.Or(address, b.Env.Var("MCPBELT_REGISTRY"), catalog.Official)
}

// isCatalogued reports whether an argument of add names a server of a registry, or the file of a bundle. Names of the
// official registry have a domain; what has none is rather a path.
func (a *addition) isCatalogued(b *belt.Belt, arg string) bool {
	name, _, named := catalog.Named(arg)
	return isBundle(arg) || named && (strings.Contains(filepath.Dir(name), ".") || addressOf(b, a.registry) != catalog.Official)
}

func isBundle(arg string) bool {
	return slices.Contains([]string{".mcpb", ".dxt"}, filepath.Ext(arg)) && !strings.Contains(arg, "://")
}

// find makes the entry of a server of a registry, or of a bundle. The last argument names it, the one before the
// entry.
func (a *addition) find(ctx context.Context, b *belt.Belt, args []string) (*config.Server, error) {
	arg := args[len(args)-1]
	name, version, _ := catalog.Named(arg)
	title := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), ".mcpb"), ".dxt")
	if len(args) == 2 {
		title = args[0]
	}
	a.keeper.Home = cmp.Or(b.Env.Var("HOME"), b.Env.Var("USERPROFILE"))
	if b.Env.StateDir != "" {
		a.keeper.Folder = filepath.Join(b.Env.StateDir, "bundles")
	}
	if _, err := belt.Pairs(nil, a.args, "="); err != nil {
		return nil, err
	}
	a.asker = &catalog.Asker{Out: b.Out, Given: map[string][]string{}}
	given := func(texts []string, separator string) (names []string) {
		for _, text := range texts {
			name, value, _ := strings.Cut(strings.TrimLeft(text, "-"), separator)
			a.asker.Given[name] = append(a.asker.Given[name], strings.TrimLeft(value, " "))
			names = append(names, name)
		}
		return names
	}
	a.asker.Args, a.asker.Env = given(a.args, "="), given(a.env, "=")
	given(a.headers, ":")
	if isBundle(arg) {
		data, _, err := atomicfile.Read(b.Abs(arg), catalog.MaxBundle)
		if err != nil {
			return nil, &cli.Error{Exit: cli.NotFound, Message: err.Error(), Cure: "name the file of a bundle", Err: err}
		}
		return a.keeper.Bundle(ctx, a.asker, data, title, b.Abs(arg))
	}
	r, err := catalog.Open(addressOf(b, a.registry))
	if err != nil {
		return nil, err
	}
	s, err := r.Server(ctx, name, version)
	if err != nil {
		return nil, err
	}
	if s.Status == "deprecated" {
		(&cli.Error{Message: strings.TrimSuffix(s.Name+" "+s.Version+" is deprecated: "+s.StatusMessage, ": ")}).Print(b.Env.Stderr, b.Out.AsJSON)
	}
	if a.remote {
		a.kind = "remote"
	}
	return r.Entry(ctx, a.asker, s, title, a.kind, &a.keeper)
}

// launchOf returns what starting a server means.
func launchOf(r *record.Record) *consent.Launch {
	return (&config.Server{Name: r.ServerName(), Title: r.Name, Transport: r.Kind(), Command: r.Command, Args: r.Args, Env: r.Env, Cwd: r.Cwd, URL: r.URL, Headers: r.Headers}).Launch()
}
