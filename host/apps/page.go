package apps

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A page is what an app shows, as its server has it. It never changes.
type page struct {
	html     string
	declared declared
}

// declared is what the server says of a page: _meta.ui of its resource.
type declared struct {
	CSP           *policy                    `json:"csp,omitempty"`
	Permissions   map[string]json.RawMessage `json:"permissions,omitempty"`
	PrefersBorder *bool                      `json:"prefersBorder,omitempty"`
}

// A policy is where a page loads from and sends to.
type policy struct {
	Connect  []string `json:"connectDomains,omitempty"`
	Resource []string `json:"resourceDomains,omitempty"`
	Frame    []string `json:"frameDomains,omitempty"`
	BaseURI  []string `json:"baseUriDomains,omitempty"`
}

// maxDomains bounds the domains of one kind.
const maxDomains = 64

// features returns what permissions are called in the allow attribute of a frame.
func features() map[string]string {
	return map[string]string{"camera": "camera", "microphone": "microphone", "geolocation": "geolocation", "clipboardWrite": "clipboard-write"}
}

// A flaw says why a page is not shown, to its user as well: it holds nothing of a connection.
type flaw struct {
	error
	status int // of the answer
}

// read returns the page of an app, as its server has it now and the ledger lets it be shown. Ctx has the user.
func (a *Apps) read(ctx context.Context, s *Shown) (*page, error) {
	uri := s.def.App()
	var p *page
	err := a.host.WithClient(ctx, session.Key{Server: s.Server}, func(ctx context.Context, c *mcp.Client) error {
		res, err := c.ReadResource(ctx, uri, nil)
		if err != nil {
			return err
		}
		if p, err = pageOf(ctx, c, uri, res); err != nil {
			return flaw{err, http.StatusBadGateway}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("apps: the page %s of tool %s of server %s is not shown: %w", plain.Quote(uri), plain.Quote(s.Tool), plain.Quote(s.Server), err)
	}
	says, _ := json.Marshal(p.declared) // which was JSON
	held, err := a.host.Registry().JudgeApp(ctx, s.def, []byte(p.html), says)
	switch {
	case held != nil:
		return nil, flaw{fmt.Errorf("apps: the app of tool %s of server %s is not shown: it is quarantined. %sReview it, and accept or reject it",
			plain.Quote(s.Tool), plain.Quote(s.Server), held.Summary()), http.StatusConflict}
	case err != nil:
		a.opts.Logger.Warn("apps: the ledger cannot be written", "server", s.Server, "error", err)
	}
	return p, nil
}

// pageOf returns the page that is in a result.
func pageOf(ctx context.Context, c *mcp.Client, uri string, res *mcp.ReadResourceResult) (*page, error) {
	if len(res.Contents) != 1 || res.Contents[0] == nil {
		return nil, fmt.Errorf("the resource has %d contents, want one", len(res.Contents))
	}
	content := res.Contents[0]
	if kind, params, err := mime.ParseMediaType(content.MIMEType); err != nil || kind != "text/html" || params["profile"] != "mcp-app" {
		return nil, fmt.Errorf("its type is %s, want %q", plain.Quote(content.MIMEType), pageType)
	}
	html := content.Text
	if html == "" {
		html = string(content.Blob)
	}
	switch {
	case len(html) > maxPage:
		return nil, fmt.Errorf("it has %d bytes, at most %d are shown", len(html), maxPage)
	case strings.TrimSpace(html) == "" || !utf8.ValidString(html):
		return nil, fmt.Errorf("it is empty, or no UTF-8")
	}
	meta := content.Meta["ui"]
	for r, err := range c.Resources(ctx) { // where a server may say it once for all
		if meta != nil || err != nil {
			break
		}
		if r.URI == uri {
			meta = r.Meta["ui"]
		}
	}
	p := &page{html: html}
	if meta == nil {
		return p, nil
	}
	said, err := json.Marshal(meta)
	if err == nil {
		err = json.Unmarshal(said, &p.declared)
	}
	if err != nil {
		return nil, fmt.Errorf("what its server declares of it, _meta.ui, cannot be read: %w", err)
	}
	for name := range p.declared.Permissions {
		if features()[name] == "" {
			delete(p.declared.Permissions, name)
		}
	}
	return p, p.declared.CSP.check()
}

// source matches an origin that a page may name, of which an asterisk may be the first label of three.
var source = regexp.MustCompile(`^(?i:https?|wss?)://(\*\.([a-zA-Z0-9-]+\.)+)?([a-zA-Z0-9-]+\.)*[a-zA-Z0-9-]+(:[0-9]{1,5})?/?$`)

// check refuses what would open more than single origins, or end a directive.
func (p *policy) check() error {
	if p == nil {
		return nil
	}
	for name, domains := range map[string][]string{"connectDomains": p.Connect, "resourceDomains": p.Resource, "frameDomains": p.Frame, "baseUriDomains": p.BaseURI} {
		if len(domains) > maxDomains {
			return fmt.Errorf("its server declares %d %s, at most %d are taken", len(domains), name, maxDomains)
		}
		for _, domain := range domains {
			if len(domain) > 256 || !source.MatchString(domain) {
				return fmt.Errorf("its server declares %s in %s, which is no origin such as https://api.example.com", plain.Quote(domain), name)
			}
		}
	}
	return nil
}

// header returns the Content-Security-Policy of a page in a page of an origin, as the specification makes it. Forms, of
// which that says nothing, are sent nowhere.
func (p *policy) header(origin string) string {
	directives := []string{"default-src 'none'"}
	add := func(directive string, sources ...string) {
		directives = append(directives, strings.Join(append([]string{directive}, sources...), " "))
	}
	open := p
	if p == nil {
		open = &policy{}
		add("connect-src", "'none'")
	} else {
		add("connect-src", append([]string{"'self'"}, p.Connect...)...)
		add("font-src", append([]string{"'self'"}, p.Resource...)...)
	}
	add("script-src", append([]string{"'self'", "'unsafe-inline'"}, open.Resource...)...)
	add("style-src", append([]string{"'self'", "'unsafe-inline'"}, open.Resource...)...)
	add("img-src", append([]string{"'self'", "data:"}, open.Resource...)...)
	add("media-src", append([]string{"'self'", "data:"}, open.Resource...)...)
	add("frame-src", orElse(open.Frame, "'none'")...)
	add("object-src", "'none'")
	add("base-uri", orElse(open.BaseURI, "'self'")...)
	add("form-action", "'none'")
	add("frame-ancestors", origin)
	return strings.Join(directives, "; ")
}

// connections returns the Connection-Allowlist of a page: browsers that know it leave nothing open that a
// Content-Security-Policy does, such as WebRTC and the names that are looked up for links.
func (p *policy) connections() string {
	list := []string{"response-origin"}
	if p != nil {
		for _, origin := range slices.Concat(p.Connect, p.Resource, p.Frame) {
			list = append(list, `"`+strings.TrimSuffix(origin, "/")+`"`)
		}
	}
	return "(" + strings.Join(list, " ") + ");redirects=allow;webrtc=block"
}

func orElse(sources []string, none string) []string {
	if len(sources) == 0 {
		return []string{none}
	}
	return sources
}

// granted returns the permissions that a page asks for and gets, as the protocol has them and as the allow attribute of a frame has.
func (p *page) granted(allowed []string) (names map[string]any, allow string) {
	names = map[string]any{}
	var all []string
	for name := range p.declared.Permissions {
		if slices.Contains(allowed, name) {
			names[name] = struct{}{}
			all = append(all, features()[name])
		}
	}
	slices.Sort(all)
	return names, strings.Join(all, "; ")
}
