package belt

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// What completion needs to know comes from files: no server is started or asked.

// CompleteServers completes names of configured servers as arguments of a command, up to a
// number of them; below 0 for any number.
func (b *Belt) CompleteServers(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c, err := b.Load(cmd.Context())
		if err != nil || most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var list []cobra.Completion
		for _, s := range c.Servers {
			list = append(list, describe(s.Name, s.Description))
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteTools completes a server and a tool of it as the first two arguments of a command, or
// the whole name of a tool as the first. Tools are known as far as their servers were asked before.
func (b *Belt) CompleteTools(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	c, err := b.Load(cmd.Context())
	if err != nil || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	name := regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`) // nothing that a shell would obey
	lists := make([][]cobra.Completion, len(c.Servers))
	var all sync.WaitGroup
	for i, s := range c.Servers {
		prefix := ""
		switch {
		case len(args) == 1 && args[0] == s.Name:
		case len(args) == 0 && (strings.HasPrefix(s.Name, start) || strings.HasPrefix(start, s.Name)):
			lists[i] = append(lists[i], describe(s.Name, s.Description))
			prefix = s.Name + "__"
		default:
			continue
		}
		all.Go(func() { // to read a large catalogue takes a while
			for _, t := range b.cached(s) {
				if name.MatchString(t[0]) {
					lists[i] = append(lists[i], describe(prefix+t[0], t[1]))
				}
			}
		})
	}
	all.Wait()
	return slices.Concat(lists...), cobra.ShellCompDirectiveNoFileComp
}

// WasListed reports whether a server listed tools when it was asked last.
func (b *Belt) WasListed(s *config.Server) bool { return len(b.cached(s)) > 0 }

// ServerOf returns the name of the server that listed a tool when it was asked last.
func (b *Belt) ServerOf(c *Catalog, tool string) (string, error) {
	var names []string
	for _, s := range c.Servers {
		if slices.ContainsFunc(b.cached(s), func(t [2]string) bool { return t[0] == tool }) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 1 {
		return names[0], nil
	}
	e := &cli.Error{Exit: cli.Usage, Message: quote(tool) + " does not say which server's tool it is", Cure: "mcpbelt why SERVER TOOL"}
	if len(names) > 1 {
		e.Message += ": " + strings.Join(names, ", ") + " have one"
	}
	return "", e
}

// cached returns names and descriptions of the tools that a server listed last.
func (b *Belt) cached(s *config.Server) [][2]string {
	state := b.Env.StateDir
	if state == "" {
		state = host.NoState
	}
	tools, _ := host.CachedTools(state, s)
	var list [][2]string
	for _, t := range tools {
		list = append(list, [2]string{t.Name, t.Description})
	}
	return list
}

// describe returns a completion with the first line of a description.
func describe(name, description string) cobra.Completion {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	const most = 60
	return cobra.CompletionWithDesc(name, plain.Cut(plain.Line(line), most))
}
