//go:build unix

// Tests of internal/serve/admin.go: logins at the page.

package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// begin begins the login at a server with a key, and returns where the browser comes back to.
func (s *served) begin(as *authtest.Server, key, server string) string {
	s.t.Helper()
	got := ask(s.t, key, "POST", s.base+"/api/v1/sessions/"+server+"/login", "")
	assert.Equal(s.t, got.status, http.StatusOK, "beginning the login: %s", got.body)
	var begun struct{ URL string }
	assert.OK(s.t, json.Unmarshal([]byte(got.body), &begun))
	return assert.Value(as.Approve(s.t.Context(), begun.URL))(s.t)
}

// complete completes a login with a key.
func (s *served) complete(key, callback string, status int) {
	s.t.Helper()
	body := assert.Value(json.Marshal(map[string]string{"callback": callback}))(s.t)
	got := ask(s.t, key, "POST", s.base+"/api/v1/sessions/complete", string(body))
	assert.Equal(s.t, got.status, status, "completing the login: %s", got.body)
}

// The page begins and completes the logins of all and of each user, on the address of the gateway.
func TestServeLogins(t *testing.T) {
	const mine = "http://localhost:3118/callback"
	as := authtest.NewServer(t, &authtest.Options{Clients: []authtest.Client{{ID: "mine", RedirectURIs: []string{mine}}}})
	url := as.NewMCP(nil).URL
	w := newWorld(t, `
		"acme": {"type": "http", "url": "`+url+`"},
		"own": {"type": "http", "url": "`+as.NewMCP(nil).URL+`", "oauth": {"clientId": "mine", "callbackPort": 3118}},
		"each": {"type": "http", "url": "`+as.NewMCP(nil).URL+`", "identity": "user"},
		"down": {"type": "http", "url": "http://127.0.0.1:9/mcp"}`)
	s := serve(t, w)

	//report: Gateway | maximhq/bifrost#6114, sandialabs/atlas-ui-3#898 | a gateway has no login that its page can complete: the way back answers 401, or is not there | the browser comes back to the address of the gateway, and the page completes the login of the user who is signed in there
	callback := s.begin(as, s.AdminKey, "acme")
	assert.True(t, strings.HasPrefix(callback, s.base+"/callback?"), "it comes back to the listener: %.40s", callback)
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res := assert.Value(browser.Get(callback))(t)
	_ = res.Body.Close()
	assert.Equal(t, res.Header.Get("Location"), "/admin/logins?at=/callback&"+strings.SplitN(callback, "?", 2)[1], "the page it comes to")
	s.complete(s.AdminKey, callback, http.StatusOK)
	s.complete(s.AdminKey, callback, http.StatusBadGateway) // a code is good once
	s.awaitText("/api/v1/tools?q=whoami", "acme__whoami")

	//report: Gateway | MiniMax-AI/minimax-code#14 | a client that is registered by hand comes back to an address that the program does not serve | the browser goes where the entry says, and the address at which it ends can be pasted into the page
	callback = s.begin(as, s.AdminKey, "own")
	assert.True(t, strings.HasPrefix(callback, mine+"?"), "it comes back to the port of the entry: %.40s", callback)
	s.complete(s.AdminKey, callback, http.StatusOK)

	//report: Gateway | byte5ai/omadia#531 | the tokens of each user are kept under one name and looked up under another | each user of the page logs in for themselves, and cannot complete the login of another user
	// Each user has their own, and none can be given the account of another.
	keys := map[string]string{}
	for _, user := range []string{"ada", "bob"} {
		var made struct{ Secret string }
		assert.OK(t, json.Unmarshal([]byte(s.ask(200, "POST", "/api/v1/keys", `{"label":"`+user+`","user":"`+user+`","grant":{"manage":true}}`)), &made))
		keys[user] = made.Secret
	}
	callback = s.begin(as, keys["ada"], "each")
	s.complete(keys["bob"], callback, http.StatusForbidden)
	s.complete(s.AdminKey, callback, http.StatusForbidden)
	s.complete(keys["ada"], callback, http.StatusOK)

	// What fails is said.
	got := ask(t, s.AdminKey, "POST", s.base+"/api/v1/sessions/down/login", "")
	assert.Equal(t, got.status, http.StatusBadGateway)
	assert.Contains(t, got.body, "127.0.0.1:9")
	assert.LacksAll(t, s.ask(200, "GET", "/api/v1/sessions", ""), as.Secrets()...)
}
