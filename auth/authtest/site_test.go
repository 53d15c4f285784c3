package authtest_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestFail(t *testing.T) {
	s := authtest.NewServer(t, nil)
	p := s.Protect(echo(), nil)
	a := newApp(t, s, p)
	access, refresh := a.login()

	s.Fail(authtest.TokenEndpoint, 2, authtest.Fault{Status: 503, Body: `{"error":"temporarily_unavailable"}`})
	for range 2 {
		status, answer := a.read(assert.Value(s.Client().PostForm(s.URL(authtest.TokenEndpoint), url.Values{}))(t), nil)
		assert.Equal(t, [...]any{status, answer["error"]}, [...]any{503, "temporarily_unavailable"}, "answer")
	}
	a.granted(a.refresh(refresh))

	s.Fail(authtest.MetadataEndpoint, -1, authtest.Fault{Status: 200, Body: `{"issuer":"https://other.example"}`})
	for range 3 {
		assert.Equal(t, a.document(s.URL(authtest.MetadataEndpoint))["issuer"], any("https://other.example"), "metadata")
	}
	s.Fail(authtest.MetadataEndpoint, 0, authtest.Fault{})
	assert.Equal(t, a.document(s.URL(authtest.MetadataEndpoint))["issuer"], any(s.Issuer), "metadata")

	p.Fail(authtest.ResourceEndpoint, 1, authtest.Fault{Status: 500})
	a.wantCall(access, 500)
	a.wantCall(access, 200)
}

// An answer that is lost after the tokens were issued, which is where sessions
// die.
func TestCutAfterCommit(t *testing.T) {
	s, a := newServer(t, nil)
	_, refresh := a.login()
	lost := func(f authtest.Fault) {
		t.Helper()
		s.Fail(authtest.TokenEndpoint, 1, f)
		response, err := s.Client().PostForm(s.URL(authtest.TokenEndpoint), url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {a.id}, "resource": {a.resource},
		})
		if err == nil {
			response.Body.Close()
			t.Errorf("status %d, want no answer", response.StatusCode)
		}
	}
	lost(authtest.Fault{Cut: true})
	f, _ := s.Family(refresh)
	assert.Equal(t, f.Refreshes, 0, "family")
	lost(authtest.Fault{Commit: true, Cut: true})
	f, _ = s.Family(refresh)
	assert.Equal(t, f.Refreshes, 1, "refreshes")
	assert.True(t, f.Refresh != refresh, "the refresh token is another one")
	requests := s.Requests()
	assert.Equal(t, requests[len(requests)-1].Status, 0, "request")
	a.want("invalid_grant")(a.refresh(refresh))
	assert.Equal(t, s.Revoked(), 1, "revoked")
}

func TestWait(t *testing.T) {
	s, a := newServer(t, nil)
	_, refresh := a.login()
	gate := make(chan struct{})
	s.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Commit: true, Wait: gate})
	answered := make(chan map[string]any)
	before := s.Count(authtest.TokenEndpoint)
	go func() {
		_, answer := a.refresh(refresh)
		answered <- answer
	}()
	assert.OK(t, s.Await(t.Context(), authtest.TokenEndpoint, before+1))
	select {
	case answer := <-answered:
		t.Errorf("answered %v at once", answer)
	default:
	}
	close(gate)
	assert.True(t, (<-answered)["access_token"] != nil, "the answer has a token")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Fails(t, s.Await(ctx, authtest.TokenEndpoint, 1000), "awaited what has not come")
}

// Close does not wait for a request that is held for good.
func TestCloseWhileWaiting(t *testing.T) {
	s := assert.Value(authtest.New(nil))(t)
	p := s.Protect(echo(), nil)
	s.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Wait: make(chan struct{})})
	p.Fail(authtest.ResourceEndpoint, 1, authtest.Fault{Wait: make(chan struct{})})
	done := make(chan error, 2)
	for _, address := range []string{s.URL(authtest.TokenEndpoint), p.URL} {
		go func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			response, err := client.PostForm(address, nil)
			if err == nil {
				response.Body.Close()
			}
			done <- err
		}()
	}
	assert.OK(t, s.Await(t.Context(), authtest.TokenEndpoint, 1))
	assert.OK(t, p.Await(t.Context(), authtest.ResourceEndpoint, 1))
	s.Close()
	s.Close()
	<-done
	<-done
}

func TestAlteredAnswers(t *testing.T) {
	var seen string
	s := authtest.NewServer(t, &authtest.Options{
		Answer: func(_ *http.Request, answer map[string]any) {
			delete(answer, "scope")
			answer["expires_in"] = "60"
		},
		Metadata: func(document map[string]any) { delete(document, "code_challenge_methods_supported") },
	})
	s.Fail(authtest.TokenEndpoint, -1, authtest.Fault{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		if err := r.ParseForm(); err == nil {
			seen = r.PostForm.Get("grant_type")
		}
		if seen != "odd" {
			return false
		}
		w.WriteHeader(http.StatusTeapot)
		return true
	}})
	p := s.Protect(echo(), &authtest.ResourceOptions{
		Metadata: func(document map[string]any) { document["resource"] = "https://other.example" },
	})
	a := newApp(t, s, p)
	status, _ := a.token("grant_type", "odd")
	assert.Equal(t, status, http.StatusTeapot, "status")
	answer := a.granted(a.exchange(a.approve().Get("code")))
	assert.Equal(t, [...]any{answer["expires_in"], answer["scope"], seen}, [...]any{"60", nil, "authorization_code"}, "answer")
	a.wantCall(answer["access_token"].(string), 200)
	assert.Equal(t, a.document(s.URL(authtest.MetadataEndpoint))["code_challenge_methods_supported"], any(nil), "metadata")
	assert.Equal(t, a.document(metadataURL(p))["resource"], any("https://other.example"), "metadata")
}

func TestOptionsWrong(t *testing.T) {
	for _, o := range []*authtest.Options{
		{Path: "tenant"}, {Path: "/tenant/"}, {Clients: []authtest.Client{{Secret: "x"}}},
		{Clients: []authtest.Client{{ID: "x"}, {ID: "x"}}},
	} {
		if s, err := authtest.New(o); err == nil {
			s.Close()
			t.Errorf("%+v is taken", o)
		}
	}
}
