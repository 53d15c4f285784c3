// Package catalog finds servers in a registry with the API of the official one, and makes entries of
// what a registry or a bundle says of a server. It starts nothing.
//
// Every text of a registry or bundle is somebody else's: references in it stand for themselves, and what
// a reader would not see is refused.
package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// Official is the address of the official registry.
const Official = "https://registry.modelcontextprotocol.io"

// A Server is one version of a server: its server.json, and what the registry says of it.
type Server struct {
	Name, Title, Description, Version, WebsiteURL string
	Packages                                      []*way // the ways to use it, of which remotes come first
	Remotes                                       []transport
	Status, StatusMessage                         string // active, deprecated or deleted, or empty; and why
	IsLatest                                      bool
}

// Ways returns how the server can be used: remote, and the types of its packages.
func (s *Server) Ways() string {
	var ways []string
	for _, p := range s.Packages {
		ways = append(ways, p.RegistryType)
	}
	return strings.Join(slices.Compact(ways), " ")
}

// A Registry has the API of modelcontextprotocol/registry, version 0.1.
type Registry struct {
	base string
	http *guardhttp.Client
}

const otherRegistry = "try again later, or name another one with --registry"

// Open returns the registry at an address, whose host may be in a private network.
func Open(address string) (*Registry, error) {
	base := strings.TrimRight(address, "/")
	for _, end := range []string{"/servers", "/v0.1", "/v0"} { // as clients differ in what they want
		base = strings.TrimSuffix(base, end)
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, cli.UsageError("--registry %q is no URL: write one such as %s", address, Official)
	}
	return &Registry{base, guardhttp.New(guardhttp.Options{Trusted: []string{u.Hostname()}})}, nil
}

// Find returns the servers whose names and descriptions have all of the words, in lower case, and whether there may
// be more of them: it reads a bounded number of pages.
func (r *Registry) Find(ctx context.Context, words []string) (found []*Server, more bool, err error) {
	longest := slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) }) // a registry looks for one text
	query := url.Values{"search": {longest}, "version": {"latest"}, "limit": {"50"}}
	for range 10 {
		var page struct {
			Servers  []json.RawMessage
			Metadata struct{ NextCursor string }
		}
		if err := r.get(ctx, "/v0.1/servers?"+query.Encode(), &page); err != nil {
			return nil, false, err
		}
		for _, data := range page.Servers {
			s, err := parse(data)
			if err != nil || s.Status == "deleted" || slices.ContainsFunc(words, func(w string) bool {
				return !strings.Contains(strings.ToLower(s.Name+" "+s.Title+" "+s.Description), w)
			}) {
				continue // one that is not as documented does not hide the others
			}
			if i := slices.IndexFunc(found, func(f *Server) bool { return f.Name == s.Name }); i < 0 {
				found = append(found, s)
			} else if s.IsLatest { // of a registry that lists all versions
				found[i] = s
			}
		}
		next := page.Metadata.NextCursor
		if next == "" || next == query.Get("cursor") {
			return found, false, nil
		}
		query.Set("cursor", next)
	}
	return found, true, nil
}

// Server returns a version of a server; an empty one is the latest.
func (r *Registry) Server(ctx context.Context, name, version string) (*Server, error) {
	version = cmp.Or(version, "latest")
	var data json.RawMessage
	err := r.get(ctx, "/v0.1/servers/"+url.PathEscape(name)+"/versions/"+url.PathEscape(version), &data)
	if e, ok := errors.AsType[*cli.Error](err); ok && e.Exit == cli.NotFound {
		e.Message = fmt.Sprintf("the registry %s has no server %s@%s", r.base, name, version)
		e.Cure = "mcpbelt find WORD; a command stands behind --, and a URL begins with https://"
	}
	if err != nil {
		return nil, err
	}
	switch s, err := parse(data); {
	case err != nil:
		return nil, failed(cli.Failed, otherRegistry, "the registry %s cannot be used: %w", r.base, err)
	case s.Name != name || version != "latest" && s.Version != version:
		return nil, failed(cli.Failed, otherRegistry, "the registry %s was asked for %s@%s, and answers with %s@%s", r.base, name, version, s.Name, s.Version)
	case s.Status == "deleted":
		return nil, failed(cli.NotFound, "mcpbelt find WORD", "%s %s was deleted from the registry: %s", name, s.Version, s.StatusMessage)
	default:
		return s, nil
	}
}

// names is the form of a server's name in the schema of server.json, but for one that begins like a relative path.
var names = regexp.MustCompile(`^[a-zA-Z0-9-][a-zA-Z0-9.-]{0,99}/[a-zA-Z0-9._-]{1,100}$`)

// Named splits a text of the form NAME or NAME@VERSION, and reports whether it is one.
func Named(text string) (name, version string, ok bool) {
	name, version, _ = strings.Cut(text, "@")
	return name, version, names.MatchString(name)
}

// parse reads a server in an answer.
func parse(data []byte) (*Server, error) {
	var answer struct {
		Server *Server
		Meta   map[string]json.RawMessage `json:"_meta"`
	}
	err := json.Unmarshal(data, &answer)
	s := answer.Server
	if err != nil || s == nil || !names.MatchString(s.Name) || !isClean(s.Version) || s.Version == "" || slices.Contains(s.Packages, nil) {
		return nil, errors.New("its answer is not what server.json may have")
	}
	_ = json.Unmarshal(answer.Meta["io.modelcontextprotocol.registry/official"], s) // which other registries need not have
	slices.SortStableFunc(s.Remotes, func(a, b transport) int { return strings.Compare(a.Type, b.Type) })
	for _, t := range s.Remotes { // sse, the older one, comes last
		if t.Type == "sse" || t.Type == "streamable-http" {
			s.Packages = slices.Insert(s.Packages, 0, &way{RegistryType: "remote", Transport: t})
		}
	}
	return s, nil
}

// get reads an answer of at most 1 MiB of JSON.
func (r *Registry) get(ctx context.Context, path string, into any) error {
	answer, err := r.http.Get(ctx, r.base+path, nil)
	r.http.Close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return failed(cli.Unreachable, otherRegistry, "the registry cannot be reached: %w", err)
	case answer.Status == http.StatusNotFound:
		return failed(cli.NotFound, otherRegistry, "there is no registry with the API of version 0.1 at %s", r.base)
	case answer.Status/100 != 2:
		return failed(cli.Unreachable, otherRegistry, "the registry %s answers with status %d", r.base, answer.Status)
	case json.Unmarshal(answer.Body, into) != nil:
		return failed(cli.Failed, otherRegistry, "the registry %s cannot be used: its answer is not JSON", r.base)
	}
	return nil
}

func failed(exit cli.Exit, cure, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &cli.Error{Exit: exit, Message: err.Error(), Cure: cure, Err: err}
}

// isClean reports whether a text of somebody else may stand in an entry: it has nothing that a reader
// would not see, and no reference of the programs that write them without a dollar.
func isClean(text string) bool {
	return plain.Text(text) == text && !strings.Contains(text, "\n") && !strings.Contains(text, "{env:") && !strings.Contains(text, "{file:")
}

// literal returns a text of somebody else as it stands for itself in an entry.
func literal(text string) string { return strings.ReplaceAll(text, "$", "${DOLLAR:-$}") }
