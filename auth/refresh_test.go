package auth

import (
	"errors"
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
			if !reflect.DeepEqual(fresh.Requested, old.Requested) || !reflect.DeepEqual(fresh.Authority, old.Authority) || !reflect.DeepEqual(fresh.Client, old.Client) {
				t.Errorf("%+v, was %+v", fresh, old)
			}
			if !fresh.Token.Obtained.After(old.Token.Obtained) {
				t.Errorf("obtained %v, before %v", fresh.Token.Obtained, old.Token.Obtained)
			}
			if !reflect.DeepEqual(*g, old) {
				t.Error("has changed the old grant")
			}
			r := as.only(t)
			want := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"RT"}, "client_id": {"client"}, "resource": {g.Authority.Resource}}
			if r.path != "/token" || !reflect.DeepEqual(r.form, want) {
				t.Errorf("%s: sends %v, want %v", r.path, r.form, want)
			}
		})
	}
}

func TestRefreshWithoutToken(t *testing.T) {
	as := newPeer(t, sends(200, tokenAnswer))
	g := grantOf(as.authority(), as.public())
	g.Token.Refresh = ""
	if _, err := flow(t, Config{}).Refresh(t.Context(), g); !errors.Is(err, ErrNoRefreshToken) {
		t.Errorf("%v", err)
	}
	if n := len(as.requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
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
		if no := wantAs[*OAuthError](t, err); no.Code != c.want || no.Status != c.status {
			t.Errorf("%s: %v", c.code, err)
		}
	}
}

// TestRefreshTellsWhatBecameOfTheToken: a refusal, an answer of no use, and none.
func TestRefreshTellsWhatBecameOfTheToken(t *testing.T) {
	as := newPeer(t, sends(400, `{"error":"invalid_grant"}`))
	f, g := flow(t, Config{}), grantOf(as.authority(), as.public())
	_, err := f.Refresh(t.Context(), g)
	var no *OAuthError
	if !errors.As(err, &no) || no.Code != "invalid_grant" || no.Request != "refresh" {
		t.Errorf("refused: %v", err)
	}
	var lost *RequestError
	as.says(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if _, err = f.Refresh(t.Context(), g); !errors.As(err, &lost) || lost.NotSent || lost.Request != "refresh" {
		t.Errorf("cut: %v", err)
	}
	as.says(sends(200, `{}`))
	if _, err = f.Refresh(t.Context(), g); !errors.As(err, &lost) || lost.NotSent || lost.Request != "refresh" {
		t.Errorf("unreadable: %v", err)
	}
	g.Authority.TokenEndpoint = "http://127.0.0.1:1/token"
	if _, err = f.Refresh(t.Context(), g); !errors.As(err, &lost) || !lost.NotSent {
		t.Errorf("unreachable: %v", err)
	}
}
