// Package belt opens what the commands of mcpbelt work on: config files, the servers in
// them, the ledger, and a host that runs those servers which a command needs.
package belt

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/database"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/codex"
	"github.com/mcpbelt/mcpbelt/host/config/goose"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session/keyringstore"
)

// A Belt is what one run of mcpbelt works on. The flags that all commands have are its
// fields; nothing is read before [Belt.Load].
type Belt struct {
	Env *cli.Env
	Out *cli.Out

	ConfigFile string        // --config
	NoImport   bool          // --no-import
	LedgerFile string        // --ledger
	NoLedger   bool          // --no-ledger
	NoDaemon   bool          // --no-daemon
	Timeout    time.Duration // --timeout; 0: none
	Account    string        // --as: whose logins are used; empty: the user's own

	// Database has the state of [Belt.OpenDatabase]; nil: it is in files.
	Database *database.Database
	shared   databaseFlags

	adHoc adHocFlags

	hidden []string // files that no entry reads, see HideFile
	cancel context.CancelFunc
	ends   []func() // called by End

	lookMu sync.Mutex // guards looks
	looks  map[string]Look
}

// New returns a belt in an environment.
func New(env *cli.Env) *Belt { return &Belt{Env: env, Out: cli.NewOut(env)} }

// AddFlags gives a command, and those below it, the flags of the belt.
func (b *Belt) AddFlags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.BoolVar(&b.Out.AsJSON, "json", false, "write JSON, and errors as JSON to standard error")
	f.StringVar(&b.ConfigFile, "config", "", "read this config `file` and no other")
	f.BoolVar(&b.NoImport, "no-import", false, "leave out the config files of other programs")
	f.StringVar(&b.LedgerFile, "ledger", "", "keep what was accepted in this `file` (default: mcp.lock.json in your folder, or beside the file of --config or of a project)")
	f.BoolVar(&b.NoLedger, "no-ledger", false, "accept whatever servers offer")
	f.StringVar(&b.Account, "as", "", "use the logins of this `account`")
	f.BoolVar(&b.NoDaemon, "no-daemon", false, "start servers, even if mcpbelt daemon has them running")
	f.DurationVar(&b.Timeout, "timeout", 0, "give up after this `time`, such as 30s")
}

// Begin returns the context of a command, which ends when --timeout says so.
func (b *Belt) Begin(ctx context.Context) context.Context {
	if b.Timeout > 0 {
		ctx, b.cancel = context.WithTimeout(ctx, b.Timeout)
	}
	return ctx
}

// End ends the context of Begin.
func (b *Belt) End() {
	for _, end := range b.ends {
		end()
	}
	if b.cancel != nil {
		b.cancel()
	}
}

// A Catalog is what the config files say.
type Catalog struct {
	*config.Config
	Servers   []*config.Server  // that count, until what waits was allowed: see Waiting
	Waiting   []*config.Server  // those of a project that hide others, and have to be allowed before they do
	Locations []config.Location // the files that were looked for
	Problems  []error           // files that cannot be read
}

// Load reads the config files: the one of --config, or all that are in their usual
// places. With --config a file that cannot be read is an error; otherwise it is one of
// the problems. With a database it reads the servers in that.
func (b *Belt) Load(ctx context.Context) (*Catalog, error) {
	if b.Database != nil {
		return b.loadRecords(ctx)
	}
	if b.ConfigFile != "" {
		c, err := config.Load(ctx, b.Abs(b.ConfigFile), b.Reading())
		if err != nil {
			return nil, &cli.Error{Exit: cli.InvalidConfig, Message: err.Error(), Err: err}
		}
		c = WithoutGateway(c)
		return &Catalog{Config: c, Servers: c.Servers, Locations: []config.Location{{Path: c.Path, Format: c.Format, Exists: true}}}, nil
	}
	c := &Catalog{Locations: b.Locations()}
	configs, err := config.LoadAll(ctx, c.Locations, b.Reading())
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		c.Problems = joined.Unwrap()
	}
	c.Config = WithoutGateway(config.Merge(configs...))
	b.choose(ctx, c)
	return c, nil
}

// choose sets the servers that count: those of a project hide servers of the user when they were
// allowed, and not before, as a host has it.
func (b *Belt) choose(ctx context.Context, c *Catalog) {
	c.Servers = c.Config.Servers
	usable := func(s *config.Server) bool { return !s.Disabled && s.Err == nil }
	over := map[*config.Server]*config.Server{} // of the user, by what hides it when that is allowed
	for _, shadow := range c.Shadowed {
		by := shadow.By.Source.Scope.NeedsApproval() && !shadow.Server.Source.Scope.NeedsApproval() && usable(shadow.By) && usable(shadow.Server)
		if by && over[shadow.By] == nil && slices.Contains(c.Servers, shadow.By) {
			over[shadow.By] = shadow.Server
		}
	}
	allowed := map[*config.Server]bool{} // one whose launch cannot even be told is not
	_ = b.tryLaunches(ctx, c, slices.Collect(maps.Keys(over)), func(s *config.Server, err error) { allowed[s] = err == nil })
	c.Servers = slices.Clone(c.Servers)
	for i, s := range c.Servers {
		if over[s] != nil && !allowed[s] {
			c.Servers[i], c.Waiting = over[s], append(c.Waiting, s)
		}
	}
}

// Blocked returns the launches of servers that are not allowed. Nothing is started for it. It is an error
// if it cannot be told what the only one would start.
func (b *Belt) Blocked(ctx context.Context, c *Catalog, servers ...*config.Server) (list []*host.LaunchNotAllowedError, err error) {
	var unknown error
	err = b.tryLaunches(ctx, c, servers, func(s *config.Server, err error) {
		switch e, ok := errors.AsType[*host.LaunchNotAllowedError](err); {
		case ok && e.Err == nil:
			list = append(list, e)
		case err != nil && (ok || len(servers) == 1):
			unknown = Explain(s, err)
		}
	})
	return list, cmp.Or(err, unknown)
}

// tryLaunches calls f for each of the servers whose launches have to be allowed, with why that is not so.
func (b *Belt) tryLaunches(ctx context.Context, c *Catalog, servers []*config.Server, f func(*config.Server, error)) error {
	servers = slices.DeleteFunc(slices.Clone(servers), func(s *config.Server) bool { return s.Err != nil || !s.Source.Scope.NeedsApproval() })
	if len(servers) == 0 {
		return ctx.Err()
	}
	h, err := b.Open(ctx, c, servers, &OpenOptions{Cold: true})
	if err != nil {
		return err
	}
	defer h.Close()
	for _, s := range servers {
		f(s, h.Try(ctx, s, nil, func(context.Context, mcp.Transport, *mcp.ClientOptions) error { return nil }))
	}
	return ctx.Err()
}

// Formats returns the formats of config files that need a parser of their own.
func Formats() []*config.Format {
	return []*config.Format{codex.Format(), goose.Format(), goose.Continue()}
}

// Reading returns how config files are read. What ${input:ID} stands for is the value of a
// variable of the environment.
func (b *Belt) Reading() *config.Options {
	return &config.Options{Lookup: b.lookup, File: b.mayRead, Formats: Formats(), Secrets: keyring{keyringstore.Secrets("")}, Input: func(_ context.Context, in config.Input) (config.Secret, error) {
		name := InputVariable(in.ID)
		if value, ok := b.Env.Lookup(name); ok {
			return config.Secret(value), nil
		}
		return "", errors.New("set the environment variable " + name)
	}}
}

// A keyring has what ${keyring:name} stands for. What ${input:ID} does is not kept there.
type keyring struct{ *keyringstore.SecretStore }

func (k keyring) Secret(ctx context.Context, name string) (config.Secret, bool, error) {
	if strings.HasPrefix(name, "input/") {
		return "", false, nil
	}
	return k.SecretStore.Secret(ctx, name)
}

func (keyring) SetSecret(context.Context, string, config.Secret) error { return nil }

// InputVariable returns the variable of the environment whose value ${input:ID} stands for.
func InputVariable(id string) string {
	return "MCPBELT_INPUT_" + regexp.MustCompile(`[^A-Z0-9]`).ReplaceAllString(strings.ToUpper(id), "_")
}

// WithoutGateway leaves out the entries that mcpbelt connect has written into the files of
// other programs: the gateway would be one of its own servers.
func WithoutGateway(c *config.Config) *config.Config {
	c.Servers = slices.DeleteFunc(slices.Clone(c.Servers), func(s *config.Server) bool {
		return strings.HasPrefix(filepath.Base(s.Command), "mcpbelt") && len(s.Args) > 0 && s.Args[0] == "serve"
	})
	return c
}

// Locations returns the usual places of config files, the strongest first: those of the
// project, our own of the user, and those of other programs.
func (b *Belt) Locations() []config.Location {
	var project, user []config.Location
	for _, l := range config.Find(&config.FindOptions{Project: b.Env.Dir, Home: b.home(), Lookup: b.Env.Lookup}) {
		switch name := filepath.Base(l.Path); {
		case l.Scope == config.ScopeUser:
			if !b.NoImport {
				user = append(user, l)
			}
		case !b.NoImport || name == ".mcp.json" || name == ".mcprc":
			project = append(project, l)
		}
	}
	if own := b.UserFile(); own != "" {
		user = slices.Insert(user, 0, config.Location{
			Client: "mcpbelt", Format: "mcpServers", Scope: config.ScopeUser, Path: own, Project: b.Env.Dir, Exists: exists(own),
		})
	}
	return append(project, user...)
}

// Client returns the program that a file belongs to, empty if it is not known.
func (c *Catalog) Client(file string) string {
	for _, l := range c.Locations {
		if l.Path == file {
			return l.Client
		}
	}
	return ""
}

// ClientName returns how a program is called on the command line: claude-desktop.
func ClientName(client string) string { return strings.ReplaceAll(strings.ToLower(client), " ", "-") }

// Without returns the catalogue without the servers that a program has in a file of its own, and the names of those.
func (c *Catalog) Without(client string) (*Catalog, []string) {
	has := func(s *config.Server) bool { return ClientName(c.Client(s.Source.File)) == client }
	var names []string
	kept, rest := *c, *c.Config
	rest.Servers = slices.DeleteFunc(slices.Clone(rest.Servers), func(s *config.Server) bool {
		own := has(s) || slices.ContainsFunc(c.Shadowed, func(x config.Shadow) bool { return x.By == s && has(x.Server) })
		if own {
			names = append(names, s.Name)
		}
		return own
	})
	kept.Config, kept.Servers = &rest, slices.DeleteFunc(slices.Clone(c.Servers), func(s *config.Server) bool { return slices.Contains(names, s.Name) })
	return &kept, names
}

// Find returns the server of a name. The error says which one may have been meant.
func (c *Catalog) Find(name string) (*config.Server, error) {
	var names []string
	for _, s := range c.Servers {
		if s.Name == name || s.Title == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, &cli.Error{Exit: cli.NotFound, Message: "there is no server " + quote(name), Server: name, Cure: cli.DidYouMean(name, names, "mcpbelt list shows those there are")}
}

// FindLaunch returns the server of a name whose launch is decided about: one that waits comes before
// the one that counts until then.
func (c *Catalog) FindLaunch(name string) (*config.Server, error) {
	all := Catalog{Servers: slices.Concat(c.Waiting, c.Servers)}
	return all.Find(name)
}

// Failed returns the error of a command that went on after the errors of some servers, which are nil for the others. It
// writes them to standard error, except for the first one, which it returns, if the
// servers were named and their errors are those of the command. Else it writes one line of those
// that wait to be allowed, and one of more than two others.
func (b *Belt) Failed(errs []error, named bool) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	if named {
		defer b.printAll(errs[1:])
		return errs[0]
	}
	var waiting, others []error
	var names []string
	for _, err := range errs {
		if e := cli.Explain(context.Background(), err); e.Exit == cli.ApprovalNeeded && strings.HasPrefix(e.Cure, "mcpbelt allow ") {
			waiting = append(waiting, err)
		} else {
			others, names = append(others, err), append(names, e.Server)
		}
	}
	const few = 2
	if n := len(waiting); n > 1 {
		waiting = []error{&cli.Error{Exit: cli.ApprovalNeeded, Message: strconv.Itoa(n) + " servers wait to be allowed", Cure: "mcpbelt allow"}}
	}
	if n := len(others); n > few && !slices.Contains(names, "") && !b.Out.AsJSON {
		slices.Sort(names)
		others = []error{&cli.Error{Message: strconv.Itoa(n) + " servers cannot be used, " + strings.Join(names, ", "), Cure: "mcpbelt doctor"}}
	}
	b.printAll(append(waiting, others...))
	return nil
}

func (b *Belt) printAll(errs []error) {
	for _, err := range errs {
		cli.Explain(context.Background(), err).Print(b.Env.Stderr, b.Out.AsJSON)
	}
}
