package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/filter"
	"github.com/mcpbelt/mcpbelt/internal/glob"
	"github.com/mcpbelt/mcpbelt/internal/webguard"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A permit is a grant, with its patterns compiled. It does not change.
type permit struct {
	filter.Filter
	key      string // equal for equal grants
	profiles []*glob.Pattern
	mode     string // in which tools are shown; empty: as the client or the options say
	manage   bool   // it may change servers
}

// permitOf returns the permit of a grant.
func (g *Gateway) permitOf(grant *access.Grant) (*permit, error) {
	if grant == nil {
		return g.full, nil
	}
	m := &permit{mode: grant.Mode, manage: grant.Manage}
	m.key = fmt.Sprintf("%q %q %q %t %t", grant.Profiles, grant.Servers, grant.Tools, grant.ReadOnly, grant.Manage)
	var err error
	if m.Filter, err = filter.New(grant.Servers, grant.Tools, grant.ReadOnly); err == nil {
		m.profiles, err = filter.Compile(grant.Profiles)
	}
	return m, err
}

// reaches reports whether the view is one that the caller may use.
func (m *permit) reaches(v *view) bool {
	switch {
	case v.name != "":
		return filter.Fits(m.profiles, v.name)
	case len(m.profiles) > 0:
		return false
	}
	return v.server == "" || m.HasServer(v.server)
}

// A shown is what the clients of one view that have equal grants see.
type shown struct {
	*view
	may *permit
}

// hasServer reports whether something of the server is shown; of the program's own tools if the name is
// empty.
func (s shown) hasServer(name string) bool {
	return (s.server == "" || s.server == name) && s.filter.HasServer(name) && s.may.HasServer(name)
}

// hasContent reports whether resources and prompts are shown.
func (s shown) hasContent() bool { return s.filter.HasContent() && s.may.HasContent() }

// hasAllServers reports whether no server is left out.
func (s shown) hasAllServers() bool {
	return s.server == "" && s.filter.HasAllServers() && s.may.HasAllServers()
}

// sees reports whether the tool is shown, or would be if it were not hidden. Hidden tools, which find and
// call the tools of all of the belt, are there where all of it is.
func (s shown) sees(d *registry.Definition) bool {
	isPart := s.filter.IsPart() || s.may.IsPart()
	return (s.server == "" || s.server == d.Origin.Server) && s.filter.HasTool(d) && s.may.HasTool(d) && !(isPart && filter.IsHidden(s.gateway.host.Registry().Snapshot(), d))
}

// authenticate returns who makes a request, and what they may.
func (g *Gateway) authenticate(r *http.Request) (*access.Caller, *permit, error) {
	switch {
	case g.opts.Authenticate != nil:
	case !g.opts.Anonymous:
		return nil, nil, &access.RefusedError{Status: http.StatusForbidden, Reason: "the gateway does not know who may use it",
			Answer: "the gateway was not told who may use it: set Options.Authenticate or, for all who reach a loopback address, Options.Anonymous"}
	case !webguard.IsLocal(r):
		return nil, nil, &access.RefusedError{Status: http.StatusForbidden, Reason: "the listener is not at a loopback address",
			Answer: "without Options.Authenticate the gateway serves loopback addresses and unix sockets alone"}
	default:
		return &access.Caller{}, g.full, nil
	}
	caller, err := g.opts.Authenticate(r)
	switch {
	case err != nil:
		return nil, nil, err
	case caller == nil:
		return nil, nil, &access.RefusedError{Status: http.StatusUnauthorized, Reason: "the Authenticator named no caller"}
	}
	if strings.HasPrefix(caller.User, "credential:") { // as the owner of what has no user is called
		return nil, nil, &access.RefusedError{Status: http.StatusForbidden, Credential: caller.Credential, Reason: "the user has the name of a credential"}
	}
	may, err := g.permitOf(caller.Grant)
	if err != nil {
		return nil, nil, &access.RefusedError{Status: http.StatusForbidden, Credential: caller.Credential, Reason: "the grant cannot be used", Err: err}
	}
	return caller, may, nil
}

// refused logs why a request was refused.
func (g *Gateway) refused(r *http.Request, err error) {
	credential := ""
	if refused, ok := errors.AsType[*access.RefusedError](err); ok {
		credential = refused.Credential
	}
	g.opts.Logger.Warn("gateway: refused a request", "error", err, "credential", credential, "path", r.URL.Path)
}

// stillAllowed reports whether the caller of a stream that is open for long may still do what it could when it
// began: a key may have been revoked, and a token has expired some time.
func (x *exchange) stillAllowed() bool {
	caller, may, err := x.gateway.authenticate(x.r)
	if err != nil {
		x.gateway.refused(x.r, err)
		return false
	}
	return caller.User == x.caller.User && caller.Credential == x.caller.Credential && may.key == x.may.key
}
