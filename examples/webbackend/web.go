package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
)

// handler returns the pages. Forms of other sites are refused.
func (b *backend) handler() http.Handler {
	mux := http.NewServeMux()
	page := template.Must(template.New("page").Parse(pageHTML))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { b.page(w, r, page) })
	mux.HandleFunc("POST /signin", b.signIn)
	mux.HandleFunc("POST /signout", b.signOut)
	mux.HandleFunc("POST /login/{server}", b.account(b.login))
	mux.HandleFunc("POST /logout/{server}", b.account(b.logout))
	mux.HandleFunc("POST /call/{tool}", b.signedIn(b.call))
	// Browsers come back here. The user that one belongs to now completes only their own
	// logins, and the administrator those that all share.
	mux.Handle("GET /callback", b.logins.Sessions().CallbackHandler(&session.CallbackOptions{
		User:       b.user,
		Allow:      func(r *http.Request, key session.Key) bool { return key.User == "" && b.isAdmin(r) },
		SuccessURL: "/",
	}))
	return http.NewCrossOriginProtection().Handler(mux)
}

func (b *backend) isAdmin(r *http.Request) bool {
	user, err := b.user(r)
	return err == nil && user == b.admin
}

// signedIn has f called with the user who makes a request.
func (b *backend) signedIn(f func(w http.ResponseWriter, r *http.Request, user string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, err := b.user(r)
		if err != nil {
			http.Error(w, "Sign in first.", http.StatusUnauthorized)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		f(w, r, user)
	}
}

// key returns the session that a user has at a server.
func (b *backend) key(server, user string) session.Key {
	if b.own[server] {
		return session.Key{User: user, Server: server}
	}
	return session.Key{Server: server} // that of all
}

// account returns what does something with the session of a user at a server, and sends the
// browser where that says.
func (b *backend) account(do func(context.Context, session.Key) (url string, err error)) http.HandlerFunc {
	return b.signedIn(func(w http.ResponseWriter, r *http.Request, user string) {
		key := b.key(r.PathValue("server"), user)
		if key.User == "" && user != b.admin {
			http.Error(w, "All share this server: its login and logout are for the administrator.", http.StatusForbidden)
			return
		}
		url, err := do(r.Context(), key)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		http.Redirect(w, r, cmp.Or(url, "/"), http.StatusSeeOther) // without a URL the user need not go anywhere
	})
}

// login begins a login.
func (b *backend) login(ctx context.Context, key session.Key) (string, error) {
	login, err := b.host.Login(ctx, key)
	if err != nil {
		return "", err
	}
	return login.URL, nil
}

// logout ends a login. Those of others stay.
func (b *backend) logout(ctx context.Context, key session.Key) (string, error) {
	return "", b.host.Logout(ctx, key)
}

// call calls a tool for a user: the context names the user. An agent's loop does the same.
func (b *backend) call(w http.ResponseWriter, r *http.Request, user string) {
	ctx := session.WithUser(r.Context(), user)
	args := cmp.Or(r.FormValue("args"), "{}")
	res, err := b.host.Registry().Call(ctx, r.PathValue("tool"), []byte(args))
	var login *auth.LoginRequiredError
	switch {
	case errors.As(err, &login):
		http.Error(w, "Log in at "+login.Server+" first.", http.StatusUnauthorized)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		fmt.Fprint(w, result.Text(res))
	}
}

// A serverView is a server as the page shows it to a user.
type serverView struct {
	Name   string
	State  string
	MayLog bool // the user may log in and out
	In     bool // there is a login
	Tools  []*registry.Definition
}

// page shows a user the servers and the tools that they can call.
func (b *backend) page(w http.ResponseWriter, r *http.Request, page *template.Template) {
	user, err := b.user(r)
	view := struct {
		User    string
		Servers []serverView
	}{User: user}
	if err == nil {
		for _, s := range b.host.Servers() {
			key := b.key(s.Name, user)
			status, err := b.logins.Sessions().Status(r.Context(), key)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			v := serverView{Name: s.Name, State: string(s.Stage), In: status.Phase == session.LoggedIn}
			v.MayLog = key.User != "" || user == b.admin
			if s.Err != nil && user == b.admin {
				v.State += ": " + s.Err.Error()
			}
			for _, t := range b.host.Registry().Snapshot().Tools() {
				if def := t.Definition(); def.Origin.Server == s.Name && (v.In || key.User == "") {
					v.Tools = append(v.Tools, def)
				}
			}
			view.Servers = append(view.Servers, v)
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; form-action *; frame-ancestors 'none'")
	_ = page.Execute(w, view) // fails if the browser is gone
}

//go:embed page.html
var pageHTML string
