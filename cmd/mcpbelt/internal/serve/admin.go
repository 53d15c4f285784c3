package serve

import (
	"context"
	"crypto/rand"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/admin/page"
	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/loginpage"
	"github.com/mcpbelt/mcpbelt/internal/statedir"
)

// adminCredential is what a caller with the key of the page is called.
const adminCredential = "admin"

// rolesOf returns what a value of --admin stands for; nil if it is none.
func rolesOf(value string) []admin.Role {
	switch r := admin.Role(value); r {
	case admin.View, admin.Operate:
		return []admin.Role{r}
	case admin.StdioWrite:
		return []admin.Role{admin.Operate, r}
	}
	return nil
}

// openPage opens the page that manages the servers in the database, of the user's config file, or of that of
// --config. The other servers are shown.
func (s *station) openPage(ctx context.Context) error {
	store, mo, err := s.records(ctx)
	if err != nil {
		return err
	}
	s.adminKey = rand.Text()
	ways := []access.Authenticator{bearer(s.adminKey, adminCredential)}
	if s.tokens.signed != nil {
		ways = slices.Insert(ways, 0, s.tokens.signed)
	}
	if s.keys != nil {
		ways = slices.Insert(ways, 0, s.keys.Authenticate)
	}
	o := &admin.Options{
		Authenticate: access.Any(ways...),
		Roles: func(c *access.Caller) []admin.Role {
			if c.Credential == adminCredential || strings.HasPrefix(c.Credential, jwtCredential) {
				return s.roles
			}
			return slices.DeleteFunc(admin.DefaultRoles(c), func(r admin.Role) bool {
				return r != admin.View && !slices.Contains(s.roles, r)
			})
		},
		Keys: s.keys, Feed: s.feed, Variables: s.variables, Config: mo.Host.Config, Replicas: s.member,
		Hosts: s.public.names(), Origins: s.public.origins,
	}
	if s.opened.Logins != nil {
		o.Sessions = s.opened.Logins.Sessions()
	}
	if s.sandbox != nil {
		if s.apps, err = apps.New(s.opened.Host, &apps.Options{SandboxURL: "http://" + s.sandbox.Addr().String()}); err != nil {
			return err
		}
		o.Apps = s.apps
	}
	s.manager = manage.New(s.opened.Host, store, mo)
	h, err := admin.Handler(s.manager, o)
	if err != nil {
		return err
	}
	if s.page, err = page.New(h); err == nil {
		s.page.ShowApps(s.apps)
	}
	return err
}

// records returns the store of the servers that the page changes, and how they are managed.
func (s *station) records(ctx context.Context) (record.Store, *manage.Options, error) {
	if s.belt.Database != nil {
		store, err := s.belt.Records(ctx)
		return store, &manage.Options{
			Host: host.Options{Config: s.belt.Reading()}, Statuses: record.NewStatuses(s.belt.Database.Kept(), "statuses"),
		}, err
	}
	file, read, err := s.belt.OwnFile()
	if err != nil {
		return nil, nil, err
	}
	store := edit.OpenFileStore(file, read)
	if dir := s.belt.Env.StateDir; dir != "" {
		store = edit.OpenKeptFileStore(file, filepath.Join(dir, "records", statedir.Name(file)), read)
	}
	return store, &manage.Options{Host: host.Options{Config: read}}, nil
}

// front returns what serves the address: the gateway, and the page.
func (s *station) front() http.Handler {
	gateway := s.member.Handler(s.gateway)
	if s.page == nil {
		return s.public.handler(gateway)
	}
	return s.public.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case first == "admin" || first == "api":
			s.page.ServeHTTP(w, r)
		case r.URL.Path == callbackPath: // the page knows who has come back
			loginpage.Protect(w.Header())
			http.Redirect(w, r, "/admin/logins?at="+callbackPath+"&"+r.URL.RawQuery, http.StatusSeeOther)
		default:
			gateway.ServeHTTP(w, r)
		}
	}))
}

// callbackPath is where browsers come back to from a login.
const callbackPath = "/callback"
