package servers

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/catalog"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/mask"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// An addition is what the command line of add or set says.
type addition struct {
	scope     string
	command   string
	transport string
	name      string
	env       []string
	headers   []string
	unset     []string

	trust, lazy, enabled, force bool

	offer   catalog.Offer // of what others offer
	answers []string
	yes     bool
}

// explainTaken is explain for add.
func explainTaken(name string, err error) error {
	if err = explain(name, err); errors.Is(err, &record.Error{Code: record.CodeNameTaken}) {
		err.(*cli.Error).Cure += ", or add it with --force"
	}
	return err
}

func addCommand(b *belt.Belt) *cobra.Command {
	a := &addition{}
	cmd := &cobra.Command{
		Use: "add",
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, err := cli.Scope(a.scope)
			if err != nil {
				return err
			}
			file, err := b.WrittenFile(scope)
			if err != nil {
				return err
			}
			note := ""
			if b.ConfigFile != "" {
				scope = ""
			}
			store := openStore(b, file, scope, "")
			if args, err = a.offered(cmd, b, store, args); err != nil {
				return err
			}
			r, _, err := a.record(b, cmd, args, nil)
			if err != nil {
				return err
			}
			_, err = record.Add(cmd.Context(), store, r)
			if a.force && errors.Is(err, &record.Error{Code: record.CodeNameTaken}) {
				var old record.Stored
				if old, err = record.Find(cmd.Context(), store, r.Title); err == nil {
					_, err = store.Save(cmd.Context(), old.Record.Title, r, old.Revision)
				}
			}
			if err != nil {
				return explainTaken(r.Title, err)
			}
			if scope.NeedsApproval() {
				note = "Before it starts its launch has to be allowed: mcpbelt allow " + r.Name
			}
			return changed{"added", r.Name, file, note}.show(cmd.Context(), b)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&a.scope, "scope", "s", "user", "whose file: local (the user's, for this folder), project, rc or user")
	f.BoolVar(&a.force, "force", false, "put it in the place of a server of that name")
	f.StringVar(&a.offer.Registry, "registry", "", "the `URL` of the server registry (default: MCPBELT_REGISTRY, or the official one)")
	f.StringVar(&a.offer.Kind, "use", "", "of a server in a registry: take its npm, pypi, oci, nuget or mcpb package, or its remote")
	f.StringArrayVar(&a.answers, "answer", nil, "answer what would be asked, `NAME=value`; can be repeated")
	f.BoolVar(&a.yes, "yes", false, "add what a registry or a bundle has without asking")
	cli.FixedFlag(cmd, "scope", "local", "project", "rc", "user")
	cli.FixedFlag(cmd, "use", "npm", "pypi", "oci", "nuget", "mcpb", "remote")
	a.addFlags(cmd)
	return cmd
}

// offered returns the arguments with the entry of what is offered in a registry or bundle, if the last one names that.
// The user has seen what it starts by then, and agreed.
func (a *addition) offered(cmd *cobra.Command, b *belt.Belt, store record.Store, args []string) ([]string, error) {
	if len(args) == 0 || len(args) > 2 || cmd.ArgsLenAtDash() >= 0 || a.command != "" || !catalog.Is(args[len(args)-1]) {
		return args, nil
	}
	o := &a.offer
	o.Belt, o.Registry = b, cmp.Or(o.Registry, b.Env.Var("MCPBELT_REGISTRY"))
	if len(args) == 2 {
		o.Name = args[0]
	}
	var err error
	for separator, texts := range map[string][]string{"=": append(a.answers, a.env...), ":": a.headers} {
		if o.Answers, err = belt.Pairs(o.Answers, texts, separator); err != nil {
			return nil, err
		}
	}
	if err := o.Read(cmd.Context(), args[len(args)-1]); err != nil {
		return nil, err
	}
	if old, err := record.Find(cmd.Context(), store, o.Name); err == nil && !a.force { // before its secrets are replaced
		return nil, explainTaken(o.Name, &record.Error{Code: record.CodeNameTaken, Name: old.Record.Title, Field: "name"})
	}
	s, err := config.ParseEntry(cmd.Context(), o.Name, o.Entry, b.Reading())
	if err != nil {
		return nil, &cli.Error{Exit: cli.InvalidConfig, Message: o.Name + " cannot be added: " + plain.Line(err.Error())}
	}
	b.Out.Printf("%s\n", s.Launch())
	if err := b.Out.Agree(cmd.Context(), a.yes, "Add "+o.Name+"?", "added"); err != nil {
		return nil, err
	}
	return []string{o.Name, string(o.Entry)}, o.Keep(cmd.Context())
}

func findCommand(b *belt.Belt) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:  "find",
		Args: cli.Args(1, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := catalog.Open(cmp.Or(address, b.Env.Var("MCPBELT_REGISTRY")))
			if err != nil {
				return err
			}
			found, err := r.Find(cmd.Context(), args)
			if err != nil {
				return err
			}
			t := &cli.Table{Headings: []string{"NAME", "VERSION", "AS", "DESCRIPTION"}, Empty: "There is no such server."}
			rows := []map[string]any{}
			for _, s := range found {
				t.Add(s.Name, s.Version, strings.Join(s.Kinds(), ", "), s.Description)
				rows = append(rows, map[string]any{"name": s.Name, "version": s.Version, "kinds": s.Kinds(), "description": s.Description})
			}
			return b.Out.Found(t, map[string]any{"servers": rows})
		},
	}
	cmd.Flags().StringVar(&address, "registry", "", "the `URL` of the server registry (default: MCPBELT_REGISTRY, or the official one)")
	return cmd
}

// addFlags adds the flags that add and set have.
func (a *addition) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.command, "command", "", "the command with its arguments as one text")
	f.StringVarP(&a.transport, "transport", "t", "", "stdio, http, sse, auto or unix (default: as the entry shows)")
	f.StringArrayVarP(&a.env, "env", "e", nil, "a variable of the server's environment, `NAME=value`; can be repeated")
	f.StringArrayVarP(&a.headers, "header", "H", nil, "a header of each request, `Name: value`; can be repeated")
	f.BoolVar(&a.trust, "trust", false, "believe what the server says of its tools")
	f.BoolVar(&a.lazy, "lazy", false, "start it when it is first used")
	cli.FixedFlag(cmd, "transport", "stdio", "http", "sse", "auto", "unix")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &cli.Error{Exit: cli.Usage, Message: err.Error(), Cure: cmd.CommandPath() + " --help; what belongs to the command of the server stands behind --", Err: err}
	})
}

func setCommand(b *belt.Belt) *cobra.Command {
	a := &addition{}
	var cmd *cobra.Command
	cmd = changeCommand(b, "set", "changed", 1, math.MaxInt, func(ctx context.Context, store record.Store, name string, args []string) error {
		old, err := record.Find(ctx, store, name)
		if err != nil {
			return err
		}
		r, keys, err := a.record(b, cmd, args, old.Record)
		if err != nil {
			return err
		}
		_, _, err = record.Update(ctx, store, name, &record.Patch{Keys: keys, Values: *r})
		return err
	})
	f := cmd.Flags()
	f.StringVar(&a.name, "name", "", "give it another `name`")
	f.BoolVar(&a.enabled, "enabled", true, "switch it on, or off with --enabled=false")
	f.StringArrayVar(&a.unset, "unset", nil, "clear this `key` of the entry; can be repeated")
	a.addFlags(cmd)
	return cmd
}

// allKeys returns the keys of an entry that a command line can change.
func allKeys() (keys []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.Server]()) {
		if key := f.Tag.Get("key"); key != "" && key != "builtin" && key != "proposed" {
			keys = append(keys, key)
		}
	}
	return keys
}

// record returns the server that the command line describes, and the keys that it names. Of the server that is changed,
// nil if one is added, variables and headers stay.
func (a *addition) record(b *belt.Belt, cmd *cobra.Command, args []string, old *config.Server) (*config.Server, []string, error) {
	var command []string
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args, command = args[:dash], args[dash:]
	}
	r, keys := &config.Server{}, slices.Clone(a.unset)
	var err error
	switch both := command != nil && a.command != ""; {
	case len(args) == 0:
		return nil, nil, cli.UsageError("%s needs the name of the server", cmd.Name())
	case len(args) > 2:
		return nil, nil, cli.UsageError("there is more than a name and a URL: write a command behind --: mcpbelt %s %s -- %s", cmd.Name(), args[0], strings.Join(args[1:], " "))
	case old != nil && len(args) == 1 && command == nil && a.command == "":
	case both || (len(args) == 2) == (command != nil || a.command != ""):
		return nil, nil, cli.UsageError("%s needs one of a URL, JSON, --command, and a command behind --", cmd.Name())
	case a.command != "":
		command, err = cli.SplitWords(a.command)
	case command != nil:
	case args[1] == "-" || strings.HasPrefix(args[1], "{"):
		keys = allKeys()
		r, err = a.readJSON(cmd.Context(), b, args[0], args[1])
	case !strings.Contains(args[1], ":") && !strings.HasPrefix(args[1], "$"):
		return nil, nil, cli.UsageError("%q is no URL: write a command behind --: mcpbelt %s %s -- %s", args[1], cmd.Name(), args[0], args[1])
	default:
		r.URL, keys = args[1], append(keys, "url")
	}
	if err != nil {
		return nil, nil, err
	}
	if len(command) > 0 {
		r.Command, r.Args, keys = command[0], command[1:], append(keys, "command", "args")
	}
	if r.Title = args[0]; old != nil {
		r.Title = cmp.Or(a.name, old.Title)
		for key, of := range map[string]struct{ to, from *map[string]config.Secret }{"env": {&r.Env, &old.Env}, "headers": {&r.Headers, &old.Headers}} {
			if !slices.Contains(keys, key) {
				*of.to = maps.Clone(*of.from)
			}
		}
	}
	for flag, key := range map[string]string{"name": "name", "transport": "transport", "env": "env", "header": "headers", "trust": "trust", "lazy": "lazy", "enabled": "enabled"} {
		if cmd.Flags().Changed(flag) {
			keys = append(keys, key)
		}
	}
	if a.transport != "" {
		r.Transport = a.transport
	}
	r.Trust, r.Lazy, r.Disabled = r.Trust || a.trust, r.Lazy || a.lazy, r.Disabled || cmd.Flags().Changed("enabled") && !a.enabled
	if r.Env, err = belt.Pairs(r.Env, a.env, "="); err == nil {
		r.Headers, err = belt.Pairs(r.Headers, a.headers, ":")
	}
	for where, values := range map[string]map[string]config.Secret{"variable": r.Env, "header": r.Headers} {
		for name, value := range values {
			if text := value.Reveal(); !strings.Contains(text, "$") && (mask.IsSecretName(name) || mask.LooksRandom(text)) && (old == nil || slices.Contains(keys, map[string]string{"variable": "env", "header": "headers"}[where])) {
				(&cli.Error{Message: "the " + where + " " + name + " is written as it is: better name a variable of your environment, such as ${" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "}"}).Print(b.Env.Stderr, b.Out.AsJSON)
			}
		}
	}
	return record.Of(r), keys, err
}

// readJSON reads an entry as it stands in a file of any program, or a whole file with one server.
func (a *addition) readJSON(ctx context.Context, b *belt.Belt, name, text string) (*config.Server, error) {
	data := []byte(text)
	if text == "-" {
		const most = 1 << 20
		var err error
		if data, err = io.ReadAll(io.LimitReader(b.Env.Stdin, most)); err != nil {
			return nil, err
		}
	}
	s, err := config.ParseEntry(ctx, name, data, b.Reading())
	if err != nil {
		return nil, cli.UsageError("%v", err)
	}
	return s, nil
}
