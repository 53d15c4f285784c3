package host_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/session"
)

// exampleLogins runs a server that wants a login, and a host that can log in.
func exampleLogins() (h *host.Host, as *authtest.Server, end func(), err error) {
	if as, err = authtest.New(nil); err != nil {
		return nil, nil, nil, err
	}
	logins, err := login.New(session.Memory(), &login.Options{
		Session: session.Options{RedirectURL: "http://127.0.0.1:1/callback"},
	})
	if err != nil {
		return nil, nil, nil, err
	}
	h = host.New(&host.Options{Logins: logins, StateDir: host.NoState})
	c, err := config.Parse(context.Background(), "mcp.json", fmt.Appendf(nil, `{"mcpServers": {"notes": {"url": %q}}}`, as.NewMCP(nil).URL), nil)
	if err == nil {
		_, err = h.Apply(context.Background(), c)
	}
	return h, as, func() { _ = h.Close(); _ = logins.Close(); as.Close() }, err
}

// A user is sent to log in, and comes back.
func ExampleHost_Login() {
	ctx := context.Background()
	h, as, end, err := exampleLogins()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()

	login, err := h.Login(ctx, session.Key{Server: "notes"})
	if err != nil {
		fmt.Println(err)
		return
	}
	callback, err := as.Approve(ctx, login.URL) // the user, in a browser
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := h.Complete(ctx, callback, nil)
	fmt.Println(key, err)
	for range h.Watch(ctx) {
		if h.Servers()[0].Stage == host.StageReady {
			break
		}
	}
	fmt.Println(len(h.Registry().Snapshot().Tools()), "tools")
	// Output:
	// server "notes" <nil>
	// 2 tools
}

// A program on a server has a page that browsers come back to.
func ExampleHost_Complete() {
	ctx := context.Background()
	h, as, end, err := exampleLogins()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()
	page := func(w http.ResponseWriter, r *http.Request) {
		key, err := h.Complete(r.Context(), r.URL.String(), nil)
		if err != nil {
			http.Error(w, "The login has failed.", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, "You are logged in at %s.", key.Server)
	}

	login, err := h.Login(ctx, session.Key{Server: "notes"})
	if err != nil {
		fmt.Println(err)
		return
	}
	callback, err := as.Approve(ctx, login.URL) // the user, in a browser
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 { // a login can be completed once
		w := httptest.NewRecorder()
		page(w, httptest.NewRequest(http.MethodGet, callback, nil))
		fmt.Println(w.Body)
	}
	// Output:
	// You are logged in at notes.
	// The login has failed.
}

func ExampleHost_Logout() {
	ctx := context.Background()
	h, _, end, err := exampleLogins()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()
	fmt.Println(h.Logout(ctx, session.Key{Server: "notes"}))
	// Output: <nil>
}
