// Package clients has the commands about the config files of other programs: taking their
// servers over, and giving them the servers of mcpbelt.
package clients

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/nearest"
)

// Commands returns the commands about other programs.
func Commands(b *belt.Belt) []*cobra.Command {
	return []*cobra.Command{importCommand(b), connectCommand(b), disconnectCommand(b)}
}

// clientName returns how a program is called on the command line: claude-desktop.
func clientName(l config.Location) string { return belt.ClientName(l.Client) }

// places returns the files of other programs, in their order.
func places(b *belt.Belt) []config.Location {
	return slices.DeleteFunc(b.Locations(), func(l config.Location) bool { return l.Path == b.UserFile() })
}

// names returns the names of the programs.
func names(b *belt.Belt) []string {
	var list []string
	for _, l := range places(b) {
		list = append(list, clientName(l))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// placesOf returns the files of the program of a name, as people type it: vscode and vs-code, codex-cli and
// codex, and the beginning of a name if it is that of one program, or of one that has a file here.
func placesOf(b *belt.Belt, name string) ([]config.Location, error) {
	bare := func(name string) string {
		return strings.TrimSuffix(strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name)), "cli")
	}
	all := places(b)
	fit := func(is func(config.Location) bool) (found []config.Location, clients []string) {
		for _, l := range all {
			if is(l) {
				found, clients = append(found, l), append(clients, clientName(l))
			}
		}
		slices.Sort(clients)
		return found, slices.Compact(clients)
	}
	begins := func(l config.Location) bool { return strings.HasPrefix(bare(l.Client), bare(name)) && name != "" }
	for _, is := range []func(config.Location) bool{
		func(l config.Location) bool { return bare(l.Client) == bare(name) }, begins, func(l config.Location) bool { return begins(l) && l.Exists },
	} {
		if found, clients := fit(is); len(clients) == 1 {
			return found, nil
		}
	}
	e := &cli.Error{Exit: cli.NotFound, Message: "there is no program " + name + " whose config file is known", Cure: "it is one of " + strings.Join(names(b), ", ")}
	if _, clients := fit(begins); len(clients) > 1 {
		e.Message, e.Cure = name+" may be more than one program", "name one: "+strings.Join(clients, ", ")
	} else if near := nearest.Names(name, names(b), 1); len(near) > 0 {
		e.Cure = "did you mean " + near[0] + "?"
	}
	return nil, e
}

// completeClients completes the name of a program as the first argument.
func completeClients(b *belt.Belt) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return names(b), cobra.ShellCompDirectiveDefault
	}
}

// pick returns the file of a program that is read or written: the first that exists, but
// rather a file for servers than the settings of the program; if none exists the first.
func pick(list []config.Location) config.Location {
	if own := slices.DeleteFunc(slices.Clone(list), func(l config.Location) bool { return filepath.Base(l.Path) == "settings.json" }); len(own) > 0 {
		list = own
	}
	for _, l := range list {
		if l.Exists {
			return l
		}
	}
	return list[0]
}
