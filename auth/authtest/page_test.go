package authtest_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// visit sends a form as a browser and returns the page, or where it is sent.
func visit(t *testing.T, s *authtest.Server, address string, form url.Values) (page, location string) {
	t.Helper()
	browser := *s.Client()
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var response *http.Response
	var err error
	if form == nil {
		response, err = browser.Get(address)
	} else {
		response, err = browser.PostForm(address, form)
	}
	assert.OK(t, err)
	defer response.Body.Close()
	data := assert.Value(io.ReadAll(response.Body))(t)
	return string(data), response.Header.Get("Location")
}

func TestLoginPage(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{LoginPage: true, Users: map[string]string{"alice": "wonder"}})
	a := newApp(t, s, s.Protect(echo(), nil))
	address := s.URL(authtest.AuthorizationEndpoint) + "?" + a.query("scope", `read <script>`).Encode()
	page, location := visit(t, s, address, nil)
	assert.Equal(t, location, "", "page")
	assert.Contains(t, page, `name="password"`, "page")
	assert.Lacks(t, page, "<script>", "page")
	for _, wrong := range []url.Values{
		{"user": {"alice"}, "password": {"wrong"}}, {"user": {"bob"}, "password": {""}}, {},
	} {
		page, location := visit(t, s, address, wrong)
		assert.Equal(t, location, "", "%v: sent", wrong)
		assert.Contains(t, page, "is wrong", "%v: sent", wrong)
	}
	_, location = visit(t, s, address, url.Values{"decision": {"deny"}})
	assert.Contains(t, location, "error=access_denied", "sent to")
	_, location = visit(t, s, address, url.Values{"user": {"alice"}, "password": {"wonder"}, "decision": {"approve"}})
	u := assert.Value(url.Parse(location))(t)
	status, _ := a.exchange(u.Query().Get("code"))
	assert.Equal(t, [...]any{status, s.Families()[0].User}, [...]any{200, "alice"}, "answer")
	a.login() // Approve needs no page
}

func TestDevicePage(t *testing.T) {
	s := authtest.NewServer(t, &authtest.Options{
		Device:  &authtest.DeviceOptions{},
		Users:   map[string]string{"alice": "wonder"},
		Clients: []authtest.Client{{ID: "tv"}},
	})
	a := &app{t: t, server: s, id: "tv", resource: "https://mcp.example/mcp"}
	_, answer := a.post(authtest.DeviceEndpoint, url.Values{"client_id": {"tv"}, "resource": {a.resource}})
	address, code := answer["verification_uri_complete"].(string), answer["user_code"].(string)
	page, _ := visit(t, s, address, nil)
	assert.Contains(t, page, `value="`+code+`"`, "page")
	form := url.Values{"user_code": {code}, "user": {"alice"}, "password": {"wrong"}, "decision": {"approve"}}
	if page, _ := visit(t, s, address, form); !strings.Contains(page, "is wrong") {
		t.Errorf("page %s", page)
	}
	form.Set("password", "wonder")
	for _, want := range []string{"Done", "not known"} {
		page, _ := visit(t, s, address, form)
		assert.Contains(t, page, want, "page")
	}
	status, _ := a.token("grant_type", "urn:ietf:params:oauth:grant-type:device_code", "device_code", answer["device_code"].(string))
	assert.Equal(t, [...]any{status, s.Families()[0].User}, [...]any{200, "alice"}, "status")
}
