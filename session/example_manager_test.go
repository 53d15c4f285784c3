// Tests of manager.go and handler.go: examples for a web program.

package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// played returns a server that wants a login, with its authorization server, and a
// manager of sessions there for a web program.
func played() (*authtest.Server, string, *session.Manager) {
	as, err := authtest.New(nil)
	if err != nil {
		panic(err)
	}
	url := as.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }), nil).URL
	config := &auth.Config{Server: "files", URL: url}
	m, err := session.NewManager(session.Memory(), &session.Options{
		Config:      func(session.Key) (*auth.Config, error) { return config, nil },
		RedirectURL: "http://127.0.0.1:8080/callback",
	})
	if err != nil {
		panic(err)
	}
	return as, url, m
}

func ExampleManager_Shutdown() {
	as, _, m := played()
	defer as.Close()

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := m.Shutdown(ctx); err != nil {
		fmt.Println("a request for a token was cut off:", err)
	}
	_, err := m.Login(context.Background(), session.Key{User: "ann", Server: "files"})
	fmt.Println(err)
	// Output: session: manager closed
}

func ExampleManager_Login() {
	as, _, m := played()
	defer as.Close()
	defer m.Close()
	ctx, ann := context.Background(), session.Key{User: "ann", Server: "files"}

	login, err := m.Login(ctx, ann)
	if err != nil {
		fmt.Println(err)
		return
	}
	// The user goes to login.URL, and their browser comes back to the program. That
	// is what Manager.CallbackHandler is for; here all is played.
	callback, err := as.Approve(ctx, login.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := m.Complete(ctx, callback, &session.CompleteOptions{User: "ann"})
	fmt.Println(key, err)
	fmt.Println(login.Wait(ctx))

	status, err := m.Status(ctx, ann)
	fmt.Println(status.Phase, status.Renewable, err)
	fmt.Println(m.Logout(ctx, ann))
	status, err = m.Status(ctx, ann)
	fmt.Println(status.Phase, status.Reason, err)
	// Output:
	// user "ann" at server "files" <nil>
	// <nil>
	// logged in true <nil>
	// <nil>
	// logged out the user has logged out <nil>
}

func ExampleManager_Handler() {
	as, url, m := played()
	defer as.Close()
	defer m.Close()
	t := &transport.HTTP{URL: url, OAuth: m.Handler(session.Key{Server: "files"})}
	fmt.Println(t.OAuth != nil)
	// Output: true
}

func ExampleManager_SetHeader() {
	as, _, m := played()
	defer as.Close()
	defer m.Close()
	ctx, bob := context.Background(), session.Key{User: "bob", Server: "files"}
	err := m.SetHeader(ctx, bob, map[string]auth.Secret{"X-Api-Key": "of bob"})
	fmt.Println(err)
	for key, err := range m.Keys(ctx) {
		fmt.Println(key, err)
	}
	for status := range m.Watch(ctx, bob) {
		fmt.Println(status.Phase, status.Headers)
		break
	}
	fmt.Println(m.Forget(ctx, bob))
	// Output:
	// <nil>
	// user "bob" at server "files" <nil>
	// logged in [X-Api-Key]
	// <nil>
}

func ExampleWithUser() {
	as, url, m := played()
	defer as.Close()
	defer m.Close()
	ctx := session.WithUser(context.Background(), "mallory")
	h := m.Handler(session.Key{User: "ann", Server: "files"})
	err := h.Authenticate(ctx, http.Header{}, http.MethodPost, url, nil)
	var wrong *session.UserError
	fmt.Println(errors.As(err, &wrong), err)
	// Output: true session: user "ann" at server "files": not the session of user "mallory"
}

func ExampleMemory() {
	store := session.Memory()
	defer store.Close()
}

// A login at an MCP server is good for the API beside it, too.
func ExampleHandler_TokenSource() {
	as, url, m := played()
	defer as.Close()
	defer m.Close()
	ctx := context.Background()

	source, err := m.Handler(session.Key{User: "alice", Server: "files"}).TokenSource(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := oauth2.NewClient(ctx, source).Get(url)
	var required *auth.LoginRequiredError
	if errors.As(err, &required) {
		fmt.Println("log in first, user", required.User)
		return
	}
	defer resp.Body.Close()
	// Output: log in first, user alice
}
