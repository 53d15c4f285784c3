package pages_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/pages"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
)

func newDesk() *pages.Desk {
	return pages.New(pages.Options{NewID: rand.Text, Logger: slog.New(slog.DiscardHandler), Login: func(context.Context, session.Key) (*session.Login, error) {
		return &session.Login{URL: "https://as.example/authorize?a=1&b=2", UserCode: "AB<CD"}, nil
	}})
}

func loginOf(user, server string) *pages.Errand {
	return &pages.Errand{Caller: &access.Caller{User: user}, Subject: server, Login: session.Key{User: user, Server: server}, Expires: time.Now().Add(time.Minute)}
}

// get opens a page on this machine, or another one.
func get(d *pages.Desk, path, remote string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr = remote
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

const here = "127.0.0.1:1"

// isGone reports whether an errand is over.
func isGone(e *pages.Errand) bool {
	select {
	case <-e.Gone():
		return true
	default:
		return false
	}
}

// An errand is known once for each caller and subject, until it expires; those of one user take no room of others.
func TestErrands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		first := d.Add(loginOf("", "one"))
		assert.True(t, d.Add(loginOf("", "one")) == first, "the errand of the same caller and subject is the same")
		assert.False(t, d.Add(loginOf("eve", "one")).ID() == first.ID(), "the errand of another caller is the same")
		for i := range 1000 {
			d.Add(loginOf("eve", fmt.Sprint(i)))
		}
		assert.Equal(t, get(d, first.Path(), "192.0.2.1:1").Code, http.StatusForbidden, "from another machine")
		assert.Equal(t, get(d, "/approve/"+first.ID(), here).Code, http.StatusNotFound, "as another page")
		known := 0
		d.Find(&access.Caller{User: "eve"}, func(*pages.Errand) bool { known++; return false })
		assert.Equal(t, known, 200, "errands of a user")
		time.Sleep(2 * time.Minute)
		assert.Equal(t, get(d, first.Path(), here).Code, http.StatusNotFound, "after its end")
		assert.False(t, d.Add(loginOf("", "one")) == first, "the errand is one that has expired")
		assert.True(t, isGone(first), "the errand that has expired is gone")
	})
}

// Errands that are over are forgotten, with what they hold, though their callers do not come again.
func TestErrandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		over, kept := d.Add(loginOf("ada", "one")), loginOf("ada", "two")
		kept.Kept = time.Now().Add(time.Hour)
		kept = d.Add(kept)
		time.Sleep(time.Minute)
		d.Forget(time.Now())
		for e, want := range map[*pages.Errand]bool{over: true, kept: false} {
			assert.Equal(t, isGone(e), want, "%s: gone", e.Subject)
		}
	})
}

// All errands together are bounded: the one that ends first makes room.
func TestErrandsOfAll(t *testing.T) {
	d := newDesk()
	var all []*pages.Errand
	last := time.Now().Add(time.Hour)
	for i := range 10_001 {
		e := loginOf(fmt.Sprint(i), "one")
		e.Expires = last.Add(-time.Duration(i) * time.Millisecond)
		all = append(all, d.Add(e))
	}
	for i, want := range map[int]bool{0: false, 9_998: false, 9_999: true, 10_000: false} {
		assert.Equal(t, isGone(all[i]), want, "errand %d: gone", i)
	}
}

// A page is for the user whose client caused it, whatever the key, and without users for the same key.
func TestPageOfCaller(t *testing.T) {
	d := pages.New(pages.Options{NewID: rand.Text, Logger: slog.New(slog.DiscardHandler), Authenticate: func(r *http.Request) (*access.Caller, error) {
		return &access.Caller{User: r.Header.Get("X-User"), Credential: r.Header.Get("X-Key")}, nil
	}})
	for _, test := range []struct {
		caused    access.Caller
		user, key string
		want      int
	}{
		{access.Caller{User: "ada", Credential: "1"}, "ada", "1", http.StatusOK},
		{access.Caller{User: "ada", Credential: "1"}, "ada", "2", http.StatusOK},
		{access.Caller{User: "ada", Credential: "1"}, "eve", "1", http.StatusForbidden},
		{access.Caller{User: "ada", Credential: "1"}, "", "1", http.StatusForbidden},
		{access.Caller{Credential: "1"}, "", "1", http.StatusOK},
		{access.Caller{Credential: "1"}, "", "2", http.StatusForbidden},
		{access.Caller{Credential: "1"}, "ada", "1", http.StatusForbidden},
	} {
		e := d.Add(&pages.Errand{Caller: &test.caused, Subject: "x", Call: requestOf("{}"), Expires: time.Now().Add(time.Minute)})
		r := httptest.NewRequest(http.MethodGet, e.Path(), nil)
		r.Header.Set("X-User", test.user)
		r.Header.Set("X-Key", test.key)
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		assert.Equal(t, w.Code, test.want, "page of %+v for user %q with key %q", test.caused, test.user, test.key)
	}
}

// A writer notes until when a request is read.
type writer struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (w *writer) SetReadDeadline(until time.Time) error { w.until = until; return nil }

// A form that does not come is not waited for without end.
func TestSlowForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		w := &writer{ResponseRecorder: httptest.NewRecorder()}
		d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, d.Add(loginOf("", "one")).Path(), strings.NewReader("token=x")))
		assert.Equal(t, time.Until(w.until), 2*time.Minute, "a deadline in")
	})
}

// The code of a login by another device is shown with the address where it is typed.
func TestLoginByCode(t *testing.T) {
	d := newDesk()
	w := get(d, d.Add(loginOf("", "one")).Path(), here)
	assert.ContainsAll(t, w.Body.String(), "AB&lt;CD", `<a href="https://as.example/authorize?a=1&amp;b=2" rel="noreferrer">`, "as.example")
	assert.Equal(t, len(w.Result().Cookies()), 1, "the cookies")
}

func requestOf(args string) *registry.ApprovalRequest {
	return &registry.ApprovalRequest{Tool: &registry.Definition{Name: "x"}, Args: json.RawMessage(args)}
}

// Only a choice that was offered decides.
func TestDecision(t *testing.T) {
	for _, test := range []struct {
		action, choice string
		session        bool
		want           approval.Verdict
	}{
		{"accept", "approve", false, approval.Allow},
		{"accept", "approve for this conversation", true, approval.AllowForConversation},
		{"accept", "approve for this conversation", false, approval.Ask},
		{"accept", "refuse", false, approval.Deny},
		{"accept", "", true, approval.Ask},
		{"accept", "yes", true, approval.Ask},
		{"decline", "approve", true, approval.Deny},
		{"cancel", "approve", true, approval.Ask},
		{"", "approve", true, approval.Ask},
	} {
		got := pages.Decision(&mcp.ElicitResult{Action: test.action, Content: map[string]any{"decision": test.choice}}, test.session)
		assert.Equal(t, got.Verdict, test.want, "%s %q", test.action, test.choice)
	}
	assert.True(t, pages.Form(requestOf(`{"a":"`+strings.Repeat("x", 20_000)+`"}`), true) == nil, "no form with long arguments")
	deep := strings.Repeat("[", 8000) + strings.Repeat("]", 8000)
	assert.Contains(t, pages.Form(requestOf(deep), true).Message, "\n"+deep)
}

// A decision that comes when none is waited for any more is told that it is late.
func TestAskEnds(t *testing.T) {
	d := newDesk()
	for _, action := range []string{"decline", "cancel", "accept"} {
		ctx, cancel := context.WithCancel(t.Context())
		e := &pages.Errand{Caller: &access.Caller{}, Subject: action, Call: requestOf("{}"), Expires: time.Now().Add(time.Minute)}
		got := d.Ask(ctx, e, func(*pages.Errand) <-chan string {
			answered := make(chan string, 1)
			answered <- action
			if action == "accept" {
				cancel()
			}
			return answered
		})
		cancel()
		want := approval.Ask
		if action == "decline" {
			want = approval.Deny
		}
		assert.Equal(t, got.Verdict, want, "%s", action)
		assert.Equal(t, get(d, e.Path(), here).Code, http.StatusNotFound, "%s", action)
	}
}

// A login is offered to the user whose it is and, where there are users, one that all share to those who may change
// servers.
func TestLoginOf(t *testing.T) {
	for _, test := range []struct {
		login, user         string
		manage, users, want bool
	}{
		{"ada", "ada", false, true, true},
		{"ada", "eve", true, true, false},
		{"ada", "", true, true, false},
		{"", "ada", false, true, false},
		{"", "ada", true, true, true},
		{"", "", false, false, true},
	} {
		o := pages.Options{NewID: rand.Text}
		if test.users {
			o.Authenticate = func(*http.Request) (*access.Caller, error) { return nil, nil }
		}
		by := &pages.Client{Caller: &access.Caller{User: test.user, Grant: &access.Grant{Manage: test.manage}}, URL: "https://belt.example"}
		_, meta := pages.New(o).Help(by, mcp.WithOutcome(&auth.LoginRequiredError{User: test.login, Server: "one"}, mcp.NotSent))
		assert.Equal(t, meta != nil, test.want, "%+v", test)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
