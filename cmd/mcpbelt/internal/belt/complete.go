package belt

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
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
			list = append(list, Completion(s.Name, s.Description))
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
	lists := make([][]cobra.Completion, len(c.Servers))
	var all sync.WaitGroup
	for i, s := range c.Servers {
		prefix := ""
		switch {
		case len(args) == 1 && args[0] == s.Name:
		case len(args) == 0 && (strings.HasPrefix(s.Name, start) || strings.HasPrefix(start, s.Name)):
			lists[i] = append(lists[i], Completion(s.Name, s.Description))
			prefix = s.Name + "__"
		default:
			continue
		}
		all.Go(func() { // to read a large catalogue takes a while
			for _, t := range b.Cached(s) {
				if ShellSafe(t.Name) {
					lists[i] = append(lists[i], Completion(prefix+t.Name, t.Description))
				}
			}
		})
	}
	all.Wait()
	return slices.Concat(lists...), cobra.ShellCompDirectiveNoFileComp
}

// WasListed reports whether a server listed tools when it was asked last.
func (b *Belt) WasListed(s *config.Server) bool { return len(b.Cached(s)) > 0 }

// ServerOf returns the name of the server that listed a tool when it was asked last.
func (b *Belt) ServerOf(c *Catalog, tool string) (string, error) {
	var names []string
	for _, s := range c.Servers {
		if slices.ContainsFunc(b.Cached(s), func(t *mcp.Tool) bool { return t.Name == tool }) {
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

// Cached returns the tools that a server listed last.
func (b *Belt) Cached(s *config.Server) []*mcp.Tool {
	state := cmp.Or(b.Env.StateDir, host.NoState)
	tools, _ := host.CachedTools(state, s)
	return tools
}

// ShellSafe reports whether a name has nothing that a shell would obey.
func ShellSafe(name string) bool {
	return name != "" && len(name) <= 128 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

// Completion returns a completion with the first line of a description.
func Completion(name, description string) cobra.Completion {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	const most = 60
	return cobra.CompletionWithDesc(name, plain.Cut(plain.Line(line), most))
}
