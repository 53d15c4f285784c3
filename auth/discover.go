package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

const (
	resourceStage  = "protected resource metadata"
	authorityStage = "authorization server metadata"

	// revision is the newest of the specification that discovery follows.
	revision = "2026-07-28"
)

// DiscoverOptions tell [Flow.Discover] what is known already.
type DiscoverOptions struct {
	// Challenges are those of the server's response with status 401 or 403.
	Challenges []Challenge
	// Issuer is the authorization server of an earlier login. It is preferred
	// as long as the server names it.
	Issuer string
	// HadMetadata says that the server was seen with protected resource
	// metadata before. Then the fallback of revision 2025-03-26 is ruled out,
	// as it could be forced by breaking the metadata.
	HadMetadata bool
}

// Discover finds the authorization server: the protected resource metadata that
// a challenge names, or else at the well-known addresses for the server's path
// and for its root; then the metadata of the authorization servers it names, in
// the order of the specification, each at all of its well-known addresses, until
// one works. The next is tried when one cannot be had, whatever the reason, not
// when its metadata is wrong; of more than eight the rest is not looked at. The
// error says what there was at each address.
//
// Where a server certainly has no protected resource metadata, Config.Issuer is
// its authorization server, or else the server itself (revision 2025-03-26). With
// Config.Issuer it also counts as having none if it answers with something else,
// such as a page.
//
// With Config.Authority it returns that, and requests nothing.
//
// It fails if there is no metadata that can be used. Of its errors, [*IssuerMismatchError]
// and [*URLError] have types. If ctx has ended, errors.Is finds that.
func (f *Flow) Discover(ctx context.Context, o *DiscoverOptions) (*Authority, error) {
	if o == nil {
		o = &DiscoverOptions{}
	}
	if given := f.config.Authority; given != nil {
		return copyOf(given), nil
	}
	server, err := url.Parse(f.config.URL)
	if err != nil {
		return nil, f.discoveryError(resourceStage, errors.New("the server's own address is no URL"))
	}
	m, none, err := f.findResource(ctx, server, o)
	switch {
	case err != nil && none && !o.HadMetadata && f.config.Issuer != "":
		m = &resourceMetadata{resource: canonicalResource(server)}
	case err != nil && none && !o.HadMetadata:
		return f.fallBack(ctx, server)
	case err != nil && none && o.HadMetadata:
		if r := (*RequestError)(nil); errors.As(err, &r) {
			r.err = fmt.Errorf("%w, although the server had some before", r.err)
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	a, err := f.findAuthority(ctx, m, o)
	if err != nil {
		return nil, err
	}
	a.Resource = m.resource
	a.ResourceScopes = m.scopes
	a.DPoPRequired = m.dpopRequired
	a.HasMetadata = !none
	return a, nil
}

// findResource gets the server's protected resource metadata. none, beside an
// error, says that it certainly has none.
func (f *Flow) findResource(ctx context.Context, server *url.URL, o *DiscoverOptions) (m *resourceMetadata, none bool, err error) {
	field, places := "URL", resourcePlaces(server)
	named, challenged := param(o.Challenges, "resource_metadata")
	if challenged {
		field, places = "resource_metadata", []string{named}
	}
	none = !challenged
	var failed error
	for _, at := range places {
		d, err := f.fetch(ctx, field, at)
		var absent *absentError
		switch {
		case err == nil:
			if m = newResourceMetadata(d); m != nil {
				return m, false, f.checkResource(server, m)
			}
			err = f.notMetadata(at)
		case errors.As(err, new(*URLError)):
			return nil, false, err
		}
		none = none && f.saysNone(err)
		// The first failure says more than that there was nothing at all.
		if failed == nil || errors.As(failed, &absent) {
			failed = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, none, f.discoveryError(resourceStage, failed)
}

// saysNone reports whether an error means that there is no protected resource
// metadata at an address. An answer that is no such metadata, as the one page with which
// many programs answer everything, is enough only if the Config knows the authorization
// server.
func (f *Flow) saysNone(err error) bool {
	return errors.As(err, new(*absentError)) || f.config.Issuer != "" && errors.As(err, new(*unreadableError))
}

// resourcePlaces returns the well-known addresses of protected resource metadata
// (RFC 9728, section 3.1): for the server's path, and for its root.
func resourcePlaces(server *url.URL) []string {
	places := []string{wellKnown(server, "oauth-protected-resource")}
	if root := wellKnown(&url.URL{Scheme: server.Scheme, Host: server.Host}, "oauth-protected-resource"); root != places[0] {
		places = append(places, root)
	}
	return places
}

// wellKnown puts a well-known name between the host and the path of an address
// (RFC 8414, section 3.1). A query stays behind: it may hold a secret.
func wellKnown(u *url.URL, name string) string {
	return u.Scheme + "://" + u.Host + "/.well-known/" + name + strings.TrimSuffix(u.EscapedPath(), "/")
}

// checkResource checks that metadata is about the server: its origin, and its
// path or one above that.
func (f *Flow) checkResource(server *url.URL, m *resourceMetadata) error {
	u, err := url.Parse(m.resource)
	if err == nil && u.User == nil && u.RawQuery == "" && !strings.Contains(m.resource, "#") &&
		resourceOrigin(u) == resourceOrigin(server) && above(u.EscapedPath(), server.EscapedPath()) {
		return nil
	}
	return &metadataError{f.config.Server, "", "resource", fmt.Sprintf("is %q, and not %q", shown(m.resource), canonicalResource(server))}
}

// above reports whether a path is another or one of those above it.
func above(path, other string) bool {
	return strings.HasPrefix(strings.TrimSuffix(other, "/")+"/", strings.TrimSuffix(path, "/")+"/")
}

// resourceOrigin returns scheme, host and port in their usual form.
func resourceOrigin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return scheme + "://" + host
}

// canonicalResource returns the identifier of a server that does not say what it
// is: its address without a query, which may hold a secret.
func canonicalResource(server *url.URL) string {
	path := server.EscapedPath()
	if path == "/" {
		path = ""
	}
	return resourceOrigin(server) + path
}

// findAuthority gets the metadata of the first authorization server that works.
func (f *Flow) findAuthority(ctx context.Context, m *resourceMetadata, o *DiscoverOptions) (*Authority, error) {
	issuers, err := f.candidates(m.issuers, o.Issuer)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, issuer := range issuers {
		a, err := f.lookUp(ctx, "authorization_servers", issuer)
		if err == nil {
			return a, f.checkGrant(a)
		}
		if !errors.As(err, new(*discoveryError)) {
			return nil, err
		}
		if failed == nil {
			failed = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

// candidates returns the authorization servers to be tried, out of those that the
// server names, in order.
func (f *Flow) candidates(named []string, before string) ([]string, error) {
	if own := f.config.Issuer; own != "" {
		if len(named) > 0 && !names(named, own) {
			return nil, &IssuerMismatchError{server: f.config.Server, what: "protected resource", want: own, got: shown(named[0])}
		}
		return []string{own}, nil
	}
	if len(named) == 0 {
		return nil, f.discoveryError(resourceStage, errors.New("it names no authorization server"))
	}
	if i := slices.Index(named, before); i > 0 {
		named = slices.Concat([]string{before}, named[:i], named[i+1:])
	}
	return named, nil
}

// names reports whether an issuer that the Config gives is among those that a server
// names. Many servers get the slash at its end wrong, and whose metadata is taken
// is told by the Config.
func names(named []string, issuer string) bool {
	return slices.ContainsFunc(named, func(n string) bool {
		return strings.TrimSuffix(n, "/") == strings.TrimSuffix(issuer, "/")
	})
}

// lookUp gets the metadata of an authorization server. field is where the issuer
// comes from. The error is a [*discoveryError] if there is none, or none that can
// be got now.
func (f *Flow) lookUp(ctx context.Context, field, issuer string) (*Authority, error) {
	u, err := f.check(field, issuer)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" || u.ForceQuery {
		return nil, f.urlError(field, &guardhttp.Refusal{Origin: resourceOrigin(u), Problem: "has a query, which no issuer has"})
	}
	var failed placesError
	for _, at := range authorityPlaces(u) {
		d, err := f.fetch(ctx, field, at)
		if err == nil {
			if d["issuer"] != nil || d["token_endpoint"] != nil {
				return f.acceptAuthority(d, issuer)
			}
			err = f.notMetadata(at)
		}
		if !errors.As(err, new(*RequestError)) {
			return nil, f.lookUpError(err)
		}
		if failed = append(failed, placeError{at, err}); ctx.Err() != nil {
			break
		}
	}
	return nil, f.lookUpError(failed)
}

// A placeError is why there is no document at an address that can be used.
type placeError struct {
	at  string
	err error
}

func (e placeError) Error() string {
	what := e.err
	if failed := (*RequestError)(nil); errors.As(e.err, &failed) {
		what = failed.err
	}
	return shown(e.at) + ": " + whatOf(what)
}

func (e placeError) Unwrap() error { return e.err }

// A placesError is what there was at each address of a document, in the order of the addresses.
type placesError []error

func (e placesError) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e placesError) Unwrap() []error { return e }

// authorityPlaces returns the addresses of an authorization server's metadata in
// the order of the specification.
func authorityPlaces(issuer *url.URL) []string {
	places := []string{wellKnown(issuer, "oauth-authorization-server"), wellKnown(issuer, "openid-configuration")}
	if path := strings.TrimSuffix(issuer.EscapedPath(), "/"); path != "" {
		places = append(places, issuer.Scheme+"://"+issuer.Host+path+"/.well-known/openid-configuration")
	}
	return places
}

// acceptAuthority decodes metadata that has to be that of issuer, byte for byte.
func (f *Flow) acceptAuthority(d answer, issuer string) (*Authority, error) {
	if got, _ := d.text("issuer"); got != issuer {
		return nil, &IssuerMismatchError{server: f.config.Server, what: "metadata", want: issuer, got: shown(got)}
	}
	return f.newAuthority(d, issuer)
}

// fallBack finds the authorization server as revision 2025-03-26 does: it is the
// server itself, with metadata at its root or with endpoints at default paths.
func (f *Flow) fallBack(ctx context.Context, server *url.URL) (*Authority, error) {
	issuer := resourceOrigin(server)
	root := server.Scheme + "://" + server.Host
	d, err := f.fetch(ctx, "URL", root+"/.well-known/oauth-authorization-server")
	var a *Authority
	switch {
	case err == nil && (d["issuer"] != nil || d["token_endpoint"] != nil):
		// The server has not named the issuer, so it may end in a slash or not.
		if got, _ := d.text("issuer"); got == issuer+"/" {
			issuer = got
		}
		a, err = f.acceptAuthority(d, issuer)
	case err == nil:
		err = f.lookUpError(f.notMetadata(root))
	case errors.As(err, new(*absentError)):
		a, err = &Authority{
			Issuer:                issuer,
			AuthorizationEndpoint: root + "/authorize",
			TokenEndpoint:         root + "/token",
			RegistrationEndpoint:  root + "/register",
			PKCE:                  true, // that revision requires it of everybody
		}, nil
	default:
		err = f.lookUpError(err)
	}
	if err != nil {
		return nil, err
	}
	a.Resource = canonicalResource(server)
	return a, f.checkGrant(a)
}

// fetch gets a document. The errors are [*URLError] and [*RequestError], which
// wraps an absentError or an unreadableError where that is what it is.
func (f *Flow) fetch(ctx context.Context, field, at string) (answer, error) {
	u, err := f.check(field, at)
	if err != nil {
		return nil, err
	}
	got, err := f.client().Get(ctx, at, http.Header{"Mcp-Protocol-Version": {revision}})
	var refused *guardhttp.Refusal
	var failed *guardhttp.Failure
	switch {
	case errors.As(err, &refused):
		return nil, f.urlError(field, refused)
	case errors.As(err, &failed) && (failed.Status/100 == 2 || failed.Status/100 == 3) && ctx.Err() == nil:
		return nil, f.metadataRequestError(u.Host, &unreadableError{failed.Err.Error()})
	case err != nil:
		return nil, f.requestError("metadata", err)
	case isAbsent(got.Status):
		return nil, f.metadataRequestError(u.Host, &absentError{got.Status})
	case got.Status != http.StatusOK:
		return nil, f.metadataRequestError(u.Host, fmt.Errorf("HTTP status %d", got.Status))
	}
	d := make(map[string]json.RawMessage)
	if json.Unmarshal(got.Body, &d) == nil && d != nil {
		return d, nil
	}
	return nil, f.notMetadata(at)
}

// isAbsent reports whether a status says that there is no such document, and not
// that it cannot be had now.
func isAbsent(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status/100 == 4
}

// An absentError reports an address without a document.
type absentError struct{ status int }

func (e *absentError) Error() string { return fmt.Sprintf("HTTP status %d", e.status) }

// An unreadableError reports an answer that is not the document that it should be.
type unreadableError struct{ problem string }

func (e *unreadableError) Error() string { return e.problem }

func (f *Flow) notMetadata(at string) error {
	host := ""
	if u, err := url.Parse(at); err == nil {
		host = u.Host
	}
	return f.metadataRequestError(host, &unreadableError{"the answer is not the metadata that was asked for"})
}

func (f *Flow) metadataRequestError(host string, err error) error {
	return &RequestError{server: f.config.Server, request: "metadata", host: host, err: err}
}

func (f *Flow) discoveryError(stage string, err error) error {
	return &discoveryError{server: f.config.Server, stage: stage, err: err}
}

// lookUpError makes a [*discoveryError] of what is not an error about an address.
func (f *Flow) lookUpError(err error) error {
	if errors.As(err, new(*URLError)) {
		return err
	}
	return f.discoveryError(authorityStage, err)
}

// check parses an address from metadata. The error is a
// [*URLError] for the field that it comes from.
func (f *Flow) check(field, raw string) (*url.URL, error) {
	u, err := f.client().Check(raw)
	if refused := (*guardhttp.Refusal)(nil); errors.As(err, &refused) {
		return nil, f.urlError(field, refused)
	}
	return u, err
}

// maxShown bounds what errors show of an identifier, in bytes.
const maxShown = 256

// shown returns as much of an identifier as an error can show.
func shown(raw string) string {
	if raw == "" {
		return ""
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = nil, "", "", "", false
	if raw = u.String(); len(raw) > maxShown {
		raw = raw[:maxShown] + "..."
	}
	return raw
}
