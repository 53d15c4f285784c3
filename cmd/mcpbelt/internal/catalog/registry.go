// Package catalog makes entries of what others offer: servers of a registry, and bundles. It asks the user for what an
// entry needs, and starts nothing. All that it reads is taken for hostile.
package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

const (
	official  = "https://registry.modelcontextprotocol.io"
	mostFound = 100
	maxPage   = 8 << 20 // bytes of an answer of the API
)

// A Registry is a server registry with version v0.1 of the API of the official one.
type Registry struct {
	url    string
	client *guardhttp.Client
}

// Open returns the registry at a URL, the official one if that is empty. Its own host may lie in a private network.
func Open(address string) (*Registry, error) {
	address = strings.TrimSuffix(cmp.Or(address, official), "/")
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" {
		return nil, cli.UsageError("the URL of a server registry is one of https or http, without a query")
	}
	return &Registry{address, guardhttp.New(guardhttp.Options{Trusted: []string{u.Hostname()}, AllowHTTP: u.Scheme == "http"})}, nil
}

// A Server is one version of a server in a registry, in the form of server.json.
type Server struct {
	Name, Version, Title, Description string
	Packages                          []pack
	Remotes                           []address
}

// A response is how the API returns a server.
type response struct {
	Server Server
	Meta   struct {
		Official struct{ Status string } `json:"io.modelcontextprotocol.registry/official"`
	} `json:"_meta"`
}

var (
	namePattern    = regexp.MustCompile(`^[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)+/\w[\w.-]*$`)
	versionPattern = regexp.MustCompile(`^\w[\w.+-]{0,254}$`)
)

// sound returns the server; nil if its name or version is none, or if it was deleted.
func (r *response) sound() *Server {
	s, status := &r.Server, r.Meta.Official.Status
	if len(s.Name) > 200 || !namePattern.MatchString(s.Name) || !versionPattern.MatchString(s.Version) || status == "deleted" {
		return nil
	}
	if s.Description = plain.Line(s.Description); status == "deprecated" {
		s.Description = "Deprecated. " + s.Description
	}
	return s
}

// Find returns the latest versions of servers that have all words in their name, title or description. The registry
// looks for the longest word in names.
func (r *Registry) Find(ctx context.Context, words []string) (found []*Server, err error) {
	longest := slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) })
	var page struct{ Servers []response }
	err = r.get(ctx, "?"+url.Values{"search": {longest}, "version": {"latest"}, "limit": {strconv.Itoa(mostFound)}}.Encode(), &page)
	for i := range page.Servers[:min(len(page.Servers), mostFound)] {
		s := page.Servers[i].sound()
		if s != nil && !slices.ContainsFunc(words, func(w string) bool {
			return !strings.Contains(strings.ToLower(s.Name+" "+s.Title+" "+s.Description), strings.ToLower(w))
		}) {
			found = append(found, s)
		}
	}
	return found, err
}

// server returns a server by NAME, in its latest version, or by NAME@VERSION.
func (r *Registry) server(ctx context.Context, arg string) (*Server, error) {
	name, version, _ := strings.Cut(arg, "@")
	var answer response
	if err := r.get(ctx, "/"+url.PathEscape(name)+"/versions/"+url.PathEscape(cmp.Or(version, "latest")), &answer); err != nil {
		return nil, err
	}
	s := answer.sound()
	if s == nil || s.Name != name || version != "" && s.Version != version {
		return nil, r.failed(cli.NotFound, "it has no such server")
	}
	return s, nil
}

// get reads what the API has at a path.
func (r *Registry) get(ctx context.Context, path string, into any) error {
	data, err := r.read(ctx, r.url+"/v0.1/servers"+path, maxPage)
	if err == nil && json.Unmarshal(data, into) != nil {
		err = r.failed(cli.NotSent, "it does not answer as its API is documented")
	}
	return err
}

// read reads what is at a URL, for 5 s a MiB at most.
func (r *Registry) read(ctx context.Context, from string, most int) ([]byte, error) {
	for range 4 { // the origin of a release redirects to that of its file
		answer, err := r.client.Do(ctx, &guardhttp.Request{Method: http.MethodGet, URL: from, MaxBytes: most, Timeout: time.Duration(most>>20) * 5 * time.Second})
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, r.failed(cli.NotSent, err.Error())
		case answer.Status == http.StatusOK && !answer.Truncated:
			return answer.Body, nil
		case answer.Status == http.StatusNotFound:
			return nil, r.failed(cli.NotFound, "there is nothing at "+from)
		}
		base, _ := url.Parse(from) // it was one
		to, err := base.Parse(answer.Header.Get("Location"))
		if err != nil || answer.Status/100 != 3 {
			return nil, r.failed(cli.NotSent, from+" has more than "+strconv.Itoa(most>>20)+" MiB, or the status "+strconv.Itoa(answer.Status))
		}
		from = to.String()
	}
	return nil, r.failed(cli.NotSent, from+" redirects more than 3 times")
}

func (r *Registry) failed(exit cli.Exit, why string) error {
	cure := "name another with --registry URL, or mcpbelt add NAME -- COMMAND"
	if exit == cli.NotFound {
		cure = "mcpbelt find WORD"
	}
	return &cli.Error{Exit: exit, Message: "the server registry " + r.url + ": " + plain.Line(why), Cure: cure}
}
