package auth

import (
	"net/http"
	"net/url"
	"reflect"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestRefresh(t *testing.T) {
	for _, c := range []struct {
		name, body string
		refresh    Secret
		scopes     []string
	}{
		{"rotates", tokenAnswer, "RT2", []string{"read", "write"}},
		{"keeps", `{"access_token":"AT2","token_type":"Bearer"}`, "RT", []string{"read"}},
		{"keeps, says so with nothing", `{"access_token":"AT2","token_type":"Bearer","refresh_token":"","scope":""}`, "RT", []string{"read"}},
		{"gives less", `{"access_token":"AT2","token_type":"Bearer","scope":"none"}`, "RT", []string{"none"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			as := newPeer(t, sends(200, c.body))
			g := grantOf(as.authority(), as.public())
			old := *g
			fresh := assert.Value(flow(t, Config{}).Refresh(t.Context(), g))(t)
			if fresh.Token.Refresh != c.refresh || fresh.Token.Access == old.Token.Access && c.name != "rotates" || !reflect.DeepEqual(fresh.Scopes, c.scopes) {
				t.Errorf("%q %q", fresh.Token.Refresh.Reveal(), fresh.Scopes)
			}
			assert.Equal(t, [...]any{reflect.DeepEqual(fresh.Requested, old.Requested), reflect.DeepEqual(fresh.Authority, old.Authority), reflect.DeepEqual(fresh.Client, old.Client)},
				[...]any{true, true, true}, "reflect")
			assert.Equal(t, fresh.Token.Obtained.After(old.Token.Obtained), true, "obtained")
			assert.Equal(t, reflect.DeepEqual(*g, old), true, "has changed the old grant")
			r := as.only(t)
			want := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"RT"}, "client_id": {"client"}, "resource": {g.Authority.Resource}}
			assert.Equal(t, [...]any{r.path, reflect.DeepEqual(r.form, want)}, [...]any{"/token", true})
		})
	}
}

func TestRefreshWithoutToken(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	g := grantOf(as.authority(), as.public())
	g.Token.Refresh = ""
	assert.Is(t, errOf(flow(t, Config{}).Refresh(t.Context(), g)), ErrNoRefreshToken)
	assert.Equal(t, len(as.requests()), 0)
}

// TestRefreshByOtherCodes: a refusal that only another login can cure has one name.
func TestRefreshByOtherCodes(t *testing.T) {
	for _, c := range []struct {
		status     int
		code, want string
	}{
		{200, "bad_refresh_token", "invalid_grant"}, // GitHub
		{400, "interaction_required", "invalid_grant"},
		{400, "login_required", "invalid_grant"},
		{400, "consent_required", "invalid_grant"},
		{400, "invalid_request", "invalid_request"},
		{503, "login_required", "login_required"},
	} {
		as := newPeer(t, sends(c.status, `{"error":"`+c.code+`"}`))
		_, err := flow(t, Config{}).Refresh(t.Context(), grantOf(as.authority(), as.public()))
		no := wantAs[*OAuthError](t, err)
		assert.Equal(t, [...]any{no.Code, no.Status}, [...]any{c.want, c.status}, "%s", c.code)
	}
}

// TestRefreshTellsWhatBecameOfTheToken: a refusal, an answer of no use, and none.
func TestRefreshTellsWhatBecameOfTheToken(t *testing.T) {
	as := newPeer(t, sends(400, `{"error":"invalid_grant"}`))
	f, g := flow(t, Config{}), grantOf(as.authority(), as.public())
	_, err := f.Refresh(t.Context(), g)
	no := assert.As[*OAuthError](t, err)
	assert.Equal(t, [...]any{no.Code, no.Request}, [...]any{"invalid_grant", "refresh"}, "refused")
	as.says(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err = f.Refresh(t.Context(), g)
	lost := assert.As[*RequestError](t, err)
	assert.Equal(t, [...]any{lost.NotSent, lost.Request}, [...]any{false, "refresh"}, "cut")
	as.says(sends(200, `{}`))
	_, err = f.Refresh(t.Context(), g)
	lost = assert.As[*RequestError](t, err)
	assert.Equal(t, [...]any{lost.NotSent, lost.Request}, [...]any{false, "refresh"}, "unreadable")
	g.Authority.TokenEndpoint = "http://127.0.0.1:1/token"
	_, err = f.Refresh(t.Context(), g)
	assert.Equal(t, assert.As[*RequestError](t, err).NotSent, true, "unreachable")
}
