package catalog

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host/config"
)

// A way is how a server can be used: a package, which runs on this machine, or a remote.
type way struct {
	RegistryType, RegistryBaseURL, Identifier, Version, FileSHA256, RuntimeHint string

	Transport                                                transport
	RuntimeArguments, PackageArguments, EnvironmentVariables []input
}

// A transport is where a server is reached.
type transport struct {
	Type, URL string // Type is stdio, streamable-http or sse
	Headers   []input
	Variables map[string]*input
}

// Order is the order in which a way is chosen: what runs nothing on this machine comes first.
const Order = "remote npm pypi oci nuget mcpb"

// runners are the programs that run packages of a type. Nothing that has the form is a flag, or a range of versions.
var runners = map[string]struct {
	program     string
	usual, then []string       // words before and behind the package
	join        string         // between its name and its version
	form        *regexp.Regexp // of these
	home, from  string         // where it comes from, and the flag for another place
}{
	"npm":   {"npx", []string{"-y"}, nil, "@", regexp.MustCompile(`^(@\w[\w.~-]*/)?\w[\w.~-]*@\d+\.\d+\.\d+([-+][\w.+-]+)?$`), "https://registry.npmjs.org", "--registry="},
	"pypi":  {"uvx", nil, nil, "==", regexp.MustCompile(`^\w[\w.-]*(\[[\w.,-]+\])?==\d[\w.+!-]*$`), "https://pypi.org", "--default-index="},
	"nuget": {"dnx", []string{"--yes"}, []string{"--"}, "@", regexp.MustCompile(`^\w[\w.-]*@\d[\w.+-]*$`), "https://api.nuget.org/v3/index.json", "--source="},
	"oci":   {"docker", []string{"run", "-i", "--rm"}, nil, ":", regexp.MustCompile(`^[a-z0-9][\w./:-]*(:[\w.-]+|@sha256:[0-9a-f]{64})$`), "https://docker.io", ""},
}

// systems are the words by which files of bundles are named, which are for one system each.
var systems = map[string]string{"darwin": "darwin|macos", "windows": "windows|win32", "linux": "linux", "amd64": "amd64|x64|x86_64", "arm64": "arm64|aarch64"}

// Entry makes the entry of a server under a name, which waits to be allowed. A kind is remote or a type of packages; an
// empty one is the first of Order that can be used. A bundle is not unpacked before Keep of the keeper.
func (r *Registry) Entry(ctx context.Context, a *Asker, s *Server, name, kind string, keep *Keeper) (*config.Server, error) {
	why := failed(cli.NotFound, cmp.Or(s.WebsiteURL, "ask its authors how it is used"), "%s has no %s: it has %s", s.Name, cmp.Or(kind, "remote and no package"), cmp.Or(s.Ways(), "none"))
	for _, kind := range strings.Fields(cmp.Or(kind, Order+" "+s.Ways())) {
		for _, w := range s.Packages {
			if w.RegistryType != kind {
				continue
			}
			var e *config.Server
			problem, err := w.problem(), error(nil)
			switch {
			case problem != "":
				why = failed(cli.Failed, "choose another way with --package or --remote", "the %s of %s is not used: %s", kind, s.Name, problem)
				continue
			case kind == "remote":
				e, err = r.remote(ctx, a, &w.Transport, name)
			case kind == "mcpb":
				e, err = r.bundle(ctx, a, w, name, keep)
			default:
				e, err = w.local(ctx, a, name)
			}
			if err == nil {
				e.Description, e.Proposed = strings.TrimSuffix(s.Name+" "+s.Version+" from "+r.base+"; "+e.Description, "; "), true
			}
			return e, err
		}
	}
	return nil, why
}

// what returns the name of a package with its version.
func (w *way) what() string {
	u, _ := url.Parse(w.RegistryBaseURL)
	name := w.Identifier
	if w.RegistryType == "oci" && u != nil && u.Host != "" && u.Host != "docker.io" && !strings.HasPrefix(name, u.Host+"/") {
		name = u.Host + "/" + name
	}
	if w.Version == "" || w.RegistryType == "oci" && strings.Contains(name[strings.LastIndex(name, "/")+1:], ":") {
		return name
	}
	return name + runners[w.RegistryType].join + w.Version
}

// problem returns why a way cannot be used, or an empty text.
func (w *way) problem() string {
	r, known := runners[w.RegistryType]
	switch {
	case w.RegistryType == "remote":
	case w.Transport.Type != "" && w.Transport.Type != "stdio":
		return "it serves HTTP on this machine: start it, and add its URL"
	case w.RegistryType == "mcpb":
		for system, words := range systems {
			if system != runtime.GOOS && system != runtime.GOARCH && regexp.MustCompile(words).MatchString(strings.ToLower(path.Base(w.Identifier))) {
				return "it is for another system"
			}
		}
	case !known:
		return "nothing runs a package of this type: install it, and add its command behind --"
	case w.RuntimeHint != "" && w.RuntimeHint != r.program && len(w.RuntimeArguments) > 0:
		return "its arguments are for another program than " + r.program
	case w.RegistryBaseURL != "" && (!strings.HasPrefix(w.RegistryBaseURL, "https://") || !isClean(w.RegistryBaseURL)):
		return "it comes from a place that is no https URL"
	case !r.form.MatchString(w.what()), strings.HasSuffix(w.what(), ":latest"):
		return "it has no exact version, or an odd name, and could be another program tomorrow"
	}
	return ""
}

// remote makes the entry of a server elsewhere.
func (r *Registry) remote(ctx context.Context, a *Asker, t *transport, name string) (*config.Server, error) {
	a.begin(name, curly, append(slices.Clone(t.Headers), input{Variables: t.Variables})...)
	address := a.values(ctx, "url", &input{Value: t.URL, IsRequired: true})
	headers := a.pairs(ctx, t.Headers, false)
	if err := a.end(); err != nil {
		return nil, err
	}
	whole := strings.Join(address, "")
	if _, err := r.http.Check(mustache.ReplaceAllString(whole, "x")); err != nil && !strings.HasPrefix(t.URL, "{") { // where the origin is the user's word
		return nil, failed(cli.Failed, "if you trust the address, add it by itself: mcpbelt add "+name+" URL", "its remote is not added: %w", err)
	}
	return &config.Server{Title: name, Transport: map[string]string{"sse": config.TransportSSE, "streamable-http": config.TransportHTTP}[t.Type], URL: whole, Headers: headers}, nil
}

// local makes the entry of a package.
func (w *way) local(ctx context.Context, a *Asker, name string) (*config.Server, error) {
	r := runners[w.RegistryType]
	a.begin(name, curly, slices.Concat(w.RuntimeArguments, w.PackageArguments, w.EnvironmentVariables)...)
	args := a.arguments(ctx, w.RuntimeArguments, append([]string{"-it", "--yes"}, r.usual...)...)
	own := a.arguments(ctx, w.PackageArguments)
	env := a.pairs(ctx, w.EnvironmentVariables, true)
	if err := a.end(); err != nil {
		return nil, err
	}
	all := slices.Concat(r.usual, args)
	if base := w.RegistryBaseURL; base != "" && strings.TrimRight(base, "/") != r.home && r.from != "" {
		all = append(all, r.from+literal(base))
	}
	for _, variable := range slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(slices.Clone(a.Env), maps.Keys(env))))) {
		if w.RegistryType == "oci" && !slices.ContainsFunc(args, func(word string) bool { return word == variable || strings.HasPrefix(word, variable+"=") }) {
			all = append(all, "-e", variable) // a container has no other variables
		}
	}
	if all = append(all, w.what()); len(own) > 0 {
		all = slices.Concat(all, r.then, own)
	}
	return &config.Server{Title: name, Transport: config.TransportStdio, Command: r.program, Args: all, Env: env}, nil
}
