package serve

import (
	"crypto/rand"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/admin/page"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/manage"
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

// openPage opens the page that manages the servers of the user's config file, or of that of
// --config. The other servers are shown.
func (s *station) openPage(so options) error {
	file, read := s.belt.UserFile(), &config.Options{Lookup: s.belt.Env.Lookup, Scope: config.ScopeUser}
	if s.belt.ConfigFile != "" {
		file, read.Scope = s.belt.Abs(s.belt.ConfigFile), ""
	}
	if file == "" {
		return &cli.Error{Exit: cli.Failed, Message: "there is no config file that the page could change", Cure: "set HOME, or name a file with --config"}
	}
	store := edit.OpenFileStore(file, read)
	if dir := s.belt.Env.StateDir; dir != "" {
		store.Keep(filepath.Join(dir, "records", statedir.Name(file)))
	}
	s.adminKey = rand.Text()
	ways := []access.Authenticator{bearer(s.adminKey, adminCredential)}
	if so.keys != nil {
		ways = slices.Insert(ways, 0, so.keys.Authenticate)
	}
	o := &admin.Options{
		Authenticate: access.Any(ways...),
		Roles: func(c *access.Caller) []admin.Role {
			if c.Credential == adminCredential {
				return so.roles
			}
			return admin.DefaultRoles(c)
		},
		Keys: so.keys, Feed: s.feed, Config: read,
	}
	if s.opened.Logins != nil {
		o.Sessions = s.opened.Logins.Sessions()
	}
	m := manage.New(s.opened.Host, store, &manage.Options{Host: host.Options{Config: read}}) // ends with the host
	h, err := admin.Handler(m, o)
	if err != nil {
		return err
	}
	s.page, err = page.New(h)
	return err
}

// front returns what serves the address: the gateway, and the page.
func (s *station) front() http.Handler {
	if s.page == nil {
		return s.gateway
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); first == "admin" || first == "api" {
			s.page.ServeHTTP(w, r)
			return
		}
		s.gateway.ServeHTTP(w, r)
	})
}
