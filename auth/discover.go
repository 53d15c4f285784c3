package auth

import (
	"cmp"
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
// challenges name, or else at the well-known addresses for the server's path
// and for its root; then the metadata of the authorization servers it names, in
// the order of the specification, each at all of its well-known addresses, until
// one works. The next is tried when one cannot be had or read, whatever the reason, or
// lacks what is needed, not when its metadata must not be used: that of another resource or issuer,
// or with addresses that are refused. Of more than eight authorization servers the rest is not
// looked at. The error says what there was at each address.
//
// Where the server names no authorization server, Config.Issuer is its authorization server, or
// else the server itself, with metadata at its root or for its path; or, where it certainly has
// none of all that, with endpoints at the default paths of revision 2025-03-26.
//
// With Config.Authority it returns that, and requests nothing.
//
// It fails if there is no metadata that can be used. Of its errors, [*IssuerMismatchError]
// and [*URLError] have types. If ctx has ended, errors.Is finds that.
func (f *Flow) Discover(ctx context.Context, o *DiscoverOptions) (*Authority, error) {
	o = cmp.Or(o, new(DiscoverOptions))
	if given := f.config.Authority; given != nil {
		return copyOf(given), nil
	}
	server, err := url.Parse(f.config.URL)
	if err != nil {
		return nil, f.discoveryError(resourceStage, errors.New("the server's own address is no URL"))
	}
	m, tried, err := f.findResource(ctx, server, o.Challenges)
	if err != nil {
		return nil, err
	}
	found := m != nil
	if !found {
		m = &resourceMetadata{resource: canonicalResource(server)}
	}
	named := len(m.issuers) > 0 || found && f.config.Issuer != ""
	var a *Authority
	switch {
	case !named && ctx.Err() != nil:
		return nil, f.discoveryError(resourceStage, tried)
	case !named && o.HadMetadata:
		return nil, f.discoveryError(resourceStage, fmt.Errorf("%w, although the server had some before", tried))
	case !named && f.config.Issuer == "":
		_, claimed := param(o.Challenges, "resource_metadata")
		a, err = f.fallBack(ctx, server, tried, !claimed)
		found = false
	default:
		a, err = f.findAuthority(ctx, m, o)
	}
	if err != nil {
		return nil, err
	}
	a.Resource, a.ResourceScopes, a.DPoPRequired, a.HasMetadata = m.resource, m.scopes, m.dpopRequired, found
	return a, nil
}

// findResource gets the server's protected resource metadata: the first that names an authorization
// server, or else the first of all; nil if there is none that can be used. tried says what there was
// at each place. The error is that of metadata that must not be used.
func (f *Flow) findResource(ctx context.Context, server *url.URL, challenges []Challenge) (m *resourceMetadata, tried placesError, err error) {
	var places []string
	for _, c := range challenges {
		if named, ok := c.Params["resource_metadata"]; ok && !slices.Contains(places, named) {
			places = append(places, named)
		}
	}
	named := len(places)
	for i, at := range append(places, resourcePlaces(server)...) {
		field := "URL"
		if i < named {
			field = "resource_metadata"
		} else if slices.Contains(places[:named], at) {
			continue
		}
		d, err := f.fetch(ctx, field, at)
		if err == nil {
			r := newResourceMetadata(d)
			switch {
			case r == nil:
				err = f.notMetadata(at)
			case f.checkResource(server, r) != nil:
				return nil, nil, f.checkResource(server, r)
			case len(r.issuers) > 0:
				return r, nil, nil
			default:
				m, err = cmp.Or(m, r), errors.New("it names no authorization server")
			}
		}
		if errors.As(err, new(*URLError)) {
			return nil, nil, err
		}
		if tried = append(tried, placeError{at, err}); ctx.Err() != nil {
			break
		}
	}
	return m, tried, nil
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
	return f.metadataError("", "resource", fmt.Sprintf("is %q, and not %q: if the former is where the server is meant to be reached, give it as %s",
		shown(m.resource), canonicalResource(server), f.name("URL")))
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
	var tried placesError
	for _, issuer := range issuers {
		a, places, err := f.search(ctx, "authorization_servers", f.checkGrant, issuer)
		if a != nil || err != nil {
			return a, err
		}
		if tried = append(tried, places...); ctx.Err() != nil {
			break
		}
	}
	return nil, f.discoveryError(authorityStage, tried)
}

// candidates returns the authorization servers to be tried, out of those that the
// server names, in order.
func (f *Flow) candidates(named []string, before string) ([]string, error) {
	if own := f.config.Issuer; own != "" {
		if len(named) > 0 && !names(named, own) {
			return nil, f.mismatch("protected resource", own, shown(named[0]))
		}
		return []string{own}, nil
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
	a, tried, err := f.search(ctx, field, func(*Authority) error { return nil }, issuer)
	if a == nil && err == nil {
		err = f.discoveryError(authorityStage, tried)
	}
	return a, err
}

// search looks for the metadata of an authorization server at all its well-known addresses. It may
// call itself by any of issuers; the addresses are those of the first. The first metadata
// that is good and enough is returned, else the error of what is not enough or must not be used; if
// there is none, what there was at each address.
func (f *Flow) search(ctx context.Context, field string, enough func(*Authority) error, issuers ...string) (a *Authority, tried placesError, err error) {
	u, err := f.check(field, issuers[0])
	if err != nil {
		return nil, nil, err
	}
	if u.RawQuery != "" || u.ForceQuery {
		return nil, nil, f.urlError(field, &guardhttp.Refusal{Origin: resourceOrigin(u), Problem: "has a query, which no issuer has"})
	}
	var lacking *metadataError
	for _, at := range authorityPlaces(u) {
		d, err := f.fetch(ctx, field, at)
		if err == nil {
			if d["issuer"] == nil && d["token_endpoint"] == nil {
				err = f.notMetadata(at)
			} else if a, err = f.acceptAuthority(d, issuers...); err == nil {
				if err = enough(a); err == nil {
					return a, nil, nil
				}
			}
		}
		var missing *metadataError
		switch {
		case errors.As(err, &missing):
			lacking = cmp.Or(lacking, missing)
		case errors.As(err, new(*URLError)), errors.As(err, new(*IssuerMismatchError)):
			return nil, nil, err
		}
		if tried = append(tried, placeError{at, err}); ctx.Err() != nil {
			break
		}
	}
	if lacking != nil {
		return nil, nil, lacking
	}
	return nil, tried, nil
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

// acceptAuthority decodes metadata that has to be that of one of issuers, byte for byte.
func (f *Flow) acceptAuthority(d answer, issuers ...string) (*Authority, error) {
	got, _ := d.text("issuer")
	if !slices.Contains(issuers, got) {
		return nil, f.mismatch("metadata", issuers[0], shown(got))
	}
	return f.newAuthority(d, got)
}

// fallBack finds the authorization server of a server that names none. It is the server itself, as
// in revision 2025-03-26, whose issuer may end in a slash or not: it has not named it. tried is what
// there was where it could have named one. guess allows endpoints that no metadata names.
func (f *Flow) fallBack(ctx context.Context, server *url.URL, tried placesError, guess bool) (*Authority, error) {
	root, path := server.Scheme+"://"+server.Host, strings.TrimSuffix(server.EscapedPath(), "/")
	a, places, err := f.search(ctx, "URL", f.checkGrant, root, root+"/", resourceOrigin(server), resourceOrigin(server)+"/")
	if other := (*IssuerMismatchError)(nil); errors.As(err, &other) { // the server has named none: the user can
		other.cure = ": if the former is one that you trust, give it as " + f.name("Issuer")
	}
	if a != nil || err != nil {
		return a, err
	}
	tried = append(tried, places...)
	for _, e := range tried[:len(tried)-len(places)+1] { // what that revision looks at
		guess = guess && errors.As(e, new(*absentError))
	}
	if path != "" && ctx.Err() == nil {
		a, places, err = f.search(ctx, "URL", f.checkGrant, root+path, root+path+"/", resourceOrigin(server)+path)
		if a != nil || err != nil {
			return a, err
		}
		tried = append(tried, places...)
	}
	if !guess {
		return nil, f.discoveryError(authorityStage, tried)
	}
	a = &Authority{
		Issuer:                resourceOrigin(server),
		AuthorizationEndpoint: root + "/authorize",
		TokenEndpoint:         root + "/token",
		RegistrationEndpoint:  root + "/register",
		PKCE:                  true, // that revision requires it of everybody
		guessed:               tried,
	}
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
	if d := make(map[string]json.RawMessage); json.Unmarshal(got.Body, &d) == nil && d != nil {
		return d, nil
	}
	return nil, f.notMetadata(at)
}

// isAbsent reports whether a status says that there is no such document, and not
// that it cannot be had now.
func isAbsent(status int) bool {
	return !slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}, status) && status/100 == 4
}

// An absentError reports an address without a document.
type absentError struct{ status int }

func (e *absentError) Error() string { return fmt.Sprintf("HTTP status %d", e.status) }

// An unreadableError reports an answer that is not the document that it should be.
type unreadableError struct{ problem string }

func (e *unreadableError) Error() string { return e.problem }

func (f *Flow) notMetadata(at string) error {
	return f.metadataRequestError(hostOf(at), &unreadableError{"the answer is not the metadata that was asked for"})
}

func (f *Flow) metadataRequestError(host string, err error) error {
	return &RequestError{server: f.config.Server, request: "metadata", host: host, err: err}
}

func (f *Flow) discoveryError(stage string, err error) *discoveryError {
	e := &discoveryError{server: f.config.Server, stage: stage, err: err}
	if stage == authorityStage {
		e.cure = "; if it has none, give its endpoints as " + f.name("Authority")
	}
	return e
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
