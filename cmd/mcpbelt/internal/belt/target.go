package belt

import (
	"context"
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
)

// commandLine is the file that the servers of the command line come from.
const commandLine = "command line"

// A Run is what a command does.
type Run = func(cmd *cobra.Command, args []string) error

// WithCatalog has a command read the config files first.
func (b *Belt) WithCatalog(run func(cmd *cobra.Command, c *Catalog, args []string) error) Run {
	return func(cmd *cobra.Command, args []string) error {
		c, err := b.Load(cmd.Context())
		if err != nil {
			return err
		}
		return run(cmd, c, args)
	}
}

// WithServers has a command read the config files, and work on the servers that its arguments
// name: each is the name of a configured one, or a URL; what stands behind -- is a command that
// is started. Without arguments these are all that are configured and switched on.
func (b *Belt) WithServers(run func(cmd *cobra.Command, c *Catalog, servers []*config.Server, named bool) error) Run {
	return b.WithCatalog(func(cmd *cobra.Command, c *Catalog, args []string) error {
		names, command, err := SplitArgs(cmd, args)
		if err != nil {
			return err
		}
		servers, err := b.Servers(cmd.Context(), c, names, command)
		if err != nil {
			return err
		}
		return run(cmd, c, servers, len(args) > 0)
	})
}

// WithServer is WithServers for a command that takes one server.
func (b *Belt) WithServer(run func(cmd *cobra.Command, c *Catalog, s *config.Server) error) Run {
	return b.WithServers(func(cmd *cobra.Command, c *Catalog, servers []*config.Server, named bool) error {
		if !named || len(servers) != 1 {
			return cli.UsageError("%s needs one server: a name, a URL, or a command behind --", cmd.Name())
		}
		return run(cmd, c, servers[0])
	})
}

// WithFirst has a command read the config files, and work on the server that its first argument names, or the
// command behind --, with the other arguments.
func (b *Belt) WithFirst(run func(cmd *cobra.Command, c *Catalog, s *config.Server, rest []string) error) Run {
	return b.WithCatalog(func(cmd *cobra.Command, c *Catalog, args []string) error {
		var s *config.Server
		var err error
		if dash := cmd.ArgsLenAtDash(); dash >= 0 && dash < len(args) {
			s, err = b.CommandTarget(cmd.Context(), args[dash:])
			args = args[:dash]
		} else if len(args) == 0 {
			err = cli.UsageError("%s needs a server: a name, a URL, or a command behind --", cmd.Name())
		} else {
			s, err = b.Target(cmd.Context(), c, args[0])
			args = args[1:]
		}
		if err != nil {
			return err
		}
		return run(cmd, c, s, args)
	})
}

// SplitArgs returns the arguments before -- and those behind it, which are nil if there is no --.
func SplitArgs(cmd *cobra.Command, args []string) (names, command []string, err error) {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		return args, nil, nil
	}
	if dash == len(args) {
		return nil, nil, cli.UsageError("there is no command behind --")
	}
	return args[:dash], args[dash:], nil
}

// Servers returns the servers of these names and URLs, and that of a command, which may be nil.
// Without any it returns all that are configured and switched on.
func (b *Belt) Servers(ctx context.Context, c *Catalog, names, command []string) ([]*config.Server, error) {
	var servers []*config.Server
	if err := b.adHoc.unused(); err != nil && len(names) == 0 && command == nil {
		return nil, err
	}
	for _, s := range c.Servers {
		if !s.Disabled && len(names) == 0 && command == nil {
			servers = append(servers, s)
		}
	}
	for _, name := range names {
		s, err := b.Target(ctx, c, name)
		if err != nil {
			return nil, err
		}
		servers = include(servers, s)
	}
	if command != nil {
		s, err := b.CommandTarget(ctx, command)
		if err != nil {
			return nil, err
		}
		servers = include(servers, s)
	}
	return servers, nil
}

// include adds a server. One that is configured is not added twice, and one of the command line
// gets a name that none of the others has.
func include(servers []*config.Server, s *config.Server) []*config.Server {
	if slices.Contains(servers, s) {
		return servers
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(servers, func(o *config.Server) bool { return o.Name == name })
	}
	for name, n := s.Name, 2; IsAdHoc(s) && taken(s.Name); n++ {
		s.Name = name + "-" + strconv.Itoa(n)
	}
	return append(servers, s)
}

// Target returns the server that an argument names: a configured one, or that at a URL.
func (b *Belt) Target(ctx context.Context, c *Catalog, arg string) (*config.Server, error) {
	if strings.Contains(arg, "://") {
		return b.urlTarget(ctx, arg)
	}
	if err := b.adHoc.unused(); err != nil {
		return nil, err
	}
	return c.Find(arg)
}

// CommandTarget returns a server that is started by a command of the command line. It is
// called like the program or, if that only runs others, like the first argument that is no
// flag.
func (b *Belt) CommandTarget(ctx context.Context, command []string) (*config.Server, error) {
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
	return b.target(ctx, name, &config.Server{Command: command[0], Args: command[1:]})
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

func (b *Belt) urlTarget(ctx context.Context, text string) (*config.Server, error) {
	name := "server"
	if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
		name = u.Hostname()
		if !unicode.IsLetter(rune(name[0])) { // an address; names of tools begin with a letter
			name = "host-" + name
		}
	}
	return b.target(ctx, name, &config.Server{URL: text})
}

// target reads an entry of the command line. It is the program's own: the user has named
// it just now. References are not replaced, since a shell has had its turn.
func (b *Belt) target(ctx context.Context, name string, entry *config.Server) (*config.Server, error) {
	if err := b.adHoc.addTo(b, entry); err != nil {
		return nil, err
	}
	said, err := entry.Entry()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: said}})
	if err != nil {
		return nil, err
	}
	c, err := config.Parse(ctx, commandLine, data, &config.Options{Format: "mcpServers", AsWritten: true, Scope: config.ScopeProgram})
	if err != nil {
		return nil, cli.UsageError("%v", err)
	}
	s := c.Servers[0]
	if s.Err != nil {
		return nil, cli.UsageError("%s", s.MaskError(s.Err))
	}
	return s, nil
}

// adHocFlags are the flags of [Belt.AddTargetFlags].
type adHocFlags struct {
	headers, env []string
	cwd, key     string
}

// AddTargetFlags gives a command that takes servers of the command line the flags for them.
func (b *Belt) AddTargetFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&b.adHoc.headers, "header", "H", nil, "send a URL this `header`, Name: value; can be repeated")
	f.StringVar(&b.adHoc.key, "key", "", "send a URL this `key`, as mcpbelt serve wants it; @FILE reads it")
	f.StringArrayVarP(&b.adHoc.env, "env", "e", nil, "give a command behind -- this `variable`, NAME=value; can be repeated")
	f.StringVar(&b.adHoc.cwd, "cwd", "", "start a command behind -- in this `folder`")
}

// unused returns an error if there are flags and no server for them.
func (a *adHocFlags) unused() error {
	if len(a.headers)+len(a.env) > 0 || a.cwd != "" || a.key != "" {
		return cli.UsageError("--header, --key, --env and --cwd are for a URL, or a command behind --: mcpbelt set changes the entry of a server")
	}
	return nil
}

// addTo adds what the flags say to the entry of a server.
func (a *adHocFlags) addTo(b *Belt, entry *config.Server) (err error) {
	if a.cwd != "" {
		entry.Cwd = b.Abs(a.cwd)
	}
	headers := a.headers
	if path, named := strings.CutPrefix(a.key, "@"); named {
		data, err := ownfile.Read(b.Abs(path), 64<<10, ownfile.Own)
		if err != nil {
			return cli.UsageError("the key cannot be read: %v", err)
		}
		headers = append(headers, "Authorization: Bearer "+strings.TrimSpace(string(data)))
	} else if a.key != "" {
		headers = append(headers, "Authorization: Bearer "+a.key)
	}
	if entry.Headers, err = Pairs(nil, headers, ":"); err == nil {
		entry.Env, err = Pairs(nil, a.env, "=")
	}
	return err
}

// Pairs adds what was given as NAME=value or Name: value to a map.
func Pairs(to map[string]config.Secret, texts []string, separator string) (map[string]config.Secret, error) {
	for _, text := range texts {
		name, value, ok := strings.Cut(text, separator)
		if !ok || name == "" {
			return nil, cli.UsageError("there is no %q between a name and a value: write NAME%sVALUE", separator, separator)
		}
		if to == nil {
			to = map[string]config.Secret{}
		}
		to[strings.TrimSpace(name)] = config.Secret(strings.TrimLeft(value, " "))
	}
	return to, nil
}

// IsAdHoc reports whether a server was named on the command line, and is not configured.
func IsAdHoc(s *config.Server) bool { return s.Source.File == commandLine }
