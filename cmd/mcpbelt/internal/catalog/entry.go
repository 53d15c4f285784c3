package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/ownfile"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// An Offer is a server that can be added. Its first fields say how.
type Offer struct {
	Belt     *belt.Belt
	Registry string                   // see [Open]
	Kind     string                   // one of [Server.Kinds]; default: the first
	Answers  map[string]config.Secret // to what would be asked, by name
	Name     string                   // what to call it; default: as it calls itself

	Entry json.RawMessage // set by [Offer.Read]

	from map[string]string   // what the entry says of where it is from
	got  map[string][]string // what was asked for already
	err  error               // why there is no entry; the first of all
	keep []func(context.Context) error
}

// Is reports whether an argument names what can be offered: NAME or NAME@VERSION of a registry, or the file of a bundle.
func Is(arg string) bool {
	name, _, _ := strings.Cut(arg, "@")
	return namePattern.MatchString(name) || isBundle(arg)
}

// Read makes the entry of what an argument names.
func (o *Offer) Read(ctx context.Context, arg string) error {
	o.from, o.got = map[string]string{}, map[string][]string{}
	var entry map[string]any
	if !isBundle(arg) {
		entry = o.registered(ctx, arg)
	} else if data, err := ownfile.Read(o.Belt.Abs(arg), maxBundle, ownfile.Committed); err != nil {
		o.fail(unusable(arg, err.Error()))
	} else {
		entry = o.bundle(ctx, arg, data, "")
	}
	if o.err == nil {
		entry["from"] = o.from
		o.Entry, o.err = json.Marshal(entry)
	}
	return o.err
}

// Keep puts secrets that the user has typed into the keyring, and unpacks a bundle.
func (o *Offer) Keep(ctx context.Context) (err error) {
	for _, keep := range o.keep {
		if err == nil {
			err = keep(ctx)
		}
	}
	return err
}

// fail notes why there is no entry.
func (o *Offer) fail(err error) map[string]any {
	o.err = cmp.Or(o.err, err)
	return nil
}

func unusable(what, why string) error {
	return &cli.Error{Exit: cli.InvalidConfig, Message: what + " cannot be added: " + plain.Line(why)}
}

// A pack is a package of a server.
type pack struct {
	RegistryType, RegistryBaseURL, Identifier, Version, FileSha256 string
	Transport                                                      struct{ Type string }
	RuntimeArguments, PackageArguments, EnvironmentVariables       []input
}

// An address is where a remote server is.
type address struct {
	Type, URL string
	Headers   []input
	Variables map[string]input
}

// remote is the kind of a server that is not started here, bundle that of a package which is a file.
const remote, bundle, oci = "remote", "mcpb", "oci"

// kinds says how packages of a type are run: the flag that names the package registry, where a server says which, what
// stands before and behind the package, and what NAME@VERSION is, so that it is one version, and no flag, URL or file.
var kinds = map[string]struct {
	registry      string
	before, after []string
	pinned        *regexp.Regexp
}{
	"npm":   {"--registry=%s", []string{"npx", "-y"}, nil, regexp.MustCompile(`^(@[\w~][\w.~-]*/)?[\w~][\w.~-]*@\d+\.\d+\.\d+([+-][\w.+-]+)?$`)},
	"pypi":  {"--default-index=%s/simple", []string{"uvx"}, nil, regexp.MustCompile(`^\w[\w.-]*@\d[\d.]*([abcdpr+-][\w.+-]*)?$`)},
	"nuget": {"--source=%s/v3/index.json", []string{"dnx"}, []string{"--yes", "--"}, regexp.MustCompile(`^\w[\w.-]*@\d[\d.]*([+-][\w.+-]+)?$`)},
	oci:     {"", []string{"docker", "run", "-i", "--rm"}, nil, regexp.MustCompile(`^\w[\w.-]*(:\d+)?(/[\w.-]+)*(:\w[\w.-]*|@sha256:[0-9a-f]{64})@`)},
	bundle:  {"", nil, nil, regexp.MustCompile(`^https?://`)},
}

// registryURL is the URL of a package registry, with nothing that a flag, a shell or a reference would read otherwise.
var registryURL = regexp.MustCompile(`^https://\w[\w.-]*(:\d+)?(/[\w.-]+)*/?$`)

// problem returns why a package cannot be used, empty if it can.
func (p *pack) problem() string {
	k, known := kinds[p.RegistryType]
	switch {
	case p.RegistryType == "":
		return "is missing, and so is a remote"
	case !known || p.Transport.Type != "stdio":
		return "is of the type " + p.RegistryType + ", and reached by " + p.Transport.Type
	case p.RegistryBaseURL != "" && k.registry != "" && !registryURL.MatchString(p.RegistryBaseURL):
		return "is in a package registry whose URL cannot be used, " + p.RegistryBaseURL
	case !k.pinned.MatchString(p.Identifier+"@"+p.Version) || strings.HasSuffix(p.Identifier, ":latest"):
		return "has no name and one version that can be pinned"
	}
	return ""
}

// Kinds returns in what forms a server can be added: the types of its packages, and remote.
func (s *Server) Kinds() []string {
	list := []string{}
	for _, p := range s.Packages {
		if p.problem() == "" {
			list = append(list, p.RegistryType)
		}
	}
	if len(s.Remotes) > 0 {
		list = append(list, remote)
	}
	return list
}

// registered returns the entry of a server in a registry.
func (o *Offer) registered(ctx context.Context, arg string) map[string]any {
	r, err := Open(o.Registry)
	if err != nil {
		return o.fail(err)
	}
	s, err := r.server(ctx, arg)
	if err != nil {
		return o.fail(err)
	}
	all := s.Kinds()
	kind := o.Kind
	switch {
	case len(all) == 0:
		return o.fail(unusable(s.Name, "its package "+append(s.Packages, pack{})[0].problem()))
	case kind == "":
		kind = all[0]
	case !slices.Contains(all, kind):
		return o.fail(cli.UsageError("%s comes as %s, and not as %q", s.Name, strings.Join(all, ", "), kind))
	}
	o.Belt.Out.Printf("%s %s of %s, as %s (of %s)\n%s\n", s.Name, s.Version, r.url, kind, strings.Join(all, ", "), s.Description)
	o.Name = cmp.Or(o.Name, s.Name[strings.LastIndexByte(s.Name, '/')+1:])
	o.from["registry"], o.from["name"], o.from["version"] = r.url, s.Name, s.Version
	if kind == remote {
		current := slices.IndexFunc(s.Remotes, func(r address) bool { return r.Type == "streamable-http" })
		return o.remote(ctx, &s.Remotes[max(current, 0)])
	}
	p := &s.Packages[slices.IndexFunc(s.Packages, func(p pack) bool { return p.RegistryType == kind && p.problem() == "" })]
	if kind != bundle {
		return o.command(ctx, p)
	}
	data, err := r.read(ctx, p.Identifier, maxBundle)
	if err != nil {
		return o.fail(err)
	}
	return o.bundle(ctx, p.Identifier, data, cmp.Or(p.FileSha256, "none"))
}

// command returns the entry of a package.
func (o *Offer) command(ctx context.Context, p *pack) map[string]any {
	k, id := kinds[p.RegistryType], p.Identifier+"@"+p.Version
	env := o.named(ctx, p.EnvironmentVariables)
	args := slices.DeleteFunc(o.arguments(ctx, p.RuntimeArguments), func(arg string) bool { return slices.Contains(k.before, arg) })
	if p.RegistryBaseURL != "" && k.registry != "" {
		args = append([]string{fmt.Sprintf(k.registry, strings.TrimSuffix(p.RegistryBaseURL, "/"))}, args...)
	}
	if p.RegistryType == oci {
		id = p.Identifier
		for _, v := range p.EnvironmentVariables {
			if env[v.Name] != "" {
				args = append(args, "-e", escape(v.Name))
			}
		}
	}
	args = slices.Concat(k.before[1:], args, []string{id}, k.after, o.arguments(ctx, p.PackageArguments))
	return map[string]any{"command": k.before[0], "args": args, "env": env}
}

// remote returns the entry of a remote server.
func (o *Offer) remote(ctx context.Context, r *address) map[string]any {
	to := o.values(ctx, input{Value: r.URL, Variables: r.Variables}, "url")
	kind := map[string]string{"sse": config.TransportSSE, "streamable-http": config.TransportHTTP}[r.Type]
	return map[string]any{"type": kind, "url": strings.Join(to, ""), "headers": o.named(ctx, r.Headers)}
}
