package belt

import (
	"context"
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
)

// adHoc is the file that the servers of the command line come from.
const adHoc = "command line"

// Servers returns the servers that the arguments of a command name: each is the name of
// a configured one, or a URL; what stands behind -- is a command that is started. Without
// arguments it returns all that are configured and switched on.
func (b *Belt) Servers(ctx context.Context, c *Catalog, cmd *cobra.Command, args []string) ([]*config.Server, error) {
	names, command := args, []string(nil)
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		names, command = args[:dash], args[dash:]
		if len(command) == 0 {
			return nil, cli.UsageError("there is no command behind --")
		}
	}
	var servers []*config.Server
	if len(names) > 0 || command == nil {
		var err error
		if servers, err = b.Named(ctx, c, names); err != nil {
			return nil, err
		}
	}
	if command != nil {
		s, err := CommandTarget(ctx, command)
		if err != nil {
			return nil, err
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// Named returns the servers of these names and URLs, each once, or without any all that
// are configured and switched on.
func (b *Belt) Named(ctx context.Context, c *Catalog, names []string) ([]*config.Server, error) {
	var servers []*config.Server
	if len(names) == 0 {
		for _, s := range c.Servers {
			if s.Enabled {
				servers = append(servers, s)
			}
		}
		return servers, nil
	}
	for _, name := range names {
		s, err := b.Target(ctx, c, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(servers, func(o *config.Server) bool { return o.Name == s.Name }) {
			servers = append(servers, s)
		}
	}
	return servers, nil
}

// One returns the one server that the arguments of a command name, as [Belt.Servers] does.
func (b *Belt) One(ctx context.Context, c *Catalog, cmd *cobra.Command, args []string) (*config.Server, error) {
	if len(args) > 0 {
		servers, err := b.Servers(ctx, c, cmd, args)
		if err != nil {
			return nil, err
		}
		if len(servers) == 1 {
			return servers[0], nil
		}
	}
	return nil, cli.UsageError("%s needs one server: a name, a URL, or a command behind --", cmd.Name())
}

// Target returns the server that an argument names: a configured one, or that at a URL.
func (b *Belt) Target(ctx context.Context, c *Catalog, arg string) (*config.Server, error) {
	if strings.Contains(arg, "://") {
		return urlTarget(ctx, arg)
	}
	return c.Find(arg)
}

// CommandTarget returns a server that is started by a command of the command line. It is
// called like the program or, if that only runs others, like the first argument that is no
// flag.
func CommandTarget(ctx context.Context, command []string) (*config.Server, error) {
	runners := []string{"npx", "bunx", "uvx", "pipx", "node", "bun", "deno", "python", "python3", "go", "docker"}
	name := baseName(command[0])
	if slices.Contains(runners, name) {
		for _, arg := range command[1:] {
			if !strings.HasPrefix(arg, "-") && arg != "run" {
				name = baseName(arg)
				break
			}
		}
	}
	return target(ctx, name, map[string]any{"command": command[0], "args": command[1:]})
}

// baseName returns the last part of a path or a package without version and extension.
func baseName(text string) string {
	name := path.Base(filepath.ToSlash(text))
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		name = name[:at]
	}
	if short := strings.TrimSuffix(name, path.Ext(name)); short != "" {
		name = short
	}
	return name
}

func urlTarget(ctx context.Context, text string) (*config.Server, error) {
	name := "server"
	if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
		name = u.Hostname()
	}
	return target(ctx, name, map[string]any{"url": text})
}

// target reads an entry of the command line. It is the program's own: the user has named
// it just now. References are not replaced, since a shell has had its turn.
func target(ctx context.Context, name string, entry map[string]any) (*config.Server, error) {
	data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: entry}})
	if err != nil {
		return nil, err
	}
	c, err := config.Parse(ctx, adHoc, data, &config.Options{Format: "mcpServers", AsWritten: true, Scope: config.ScopeProgram})
	if err != nil {
		return nil, cli.UsageError("%v", err)
	}
	s := c.Servers[0]
	if s.Err != nil {
		return nil, cli.UsageError("%s", s.MaskError(s.Err))
	}
	return s, nil
}

// IsAdHoc reports whether a server was named on the command line, and is not configured.
func IsAdHoc(s *config.Server) bool { return s.Source.File == adHoc }
