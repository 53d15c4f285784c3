package session

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

func TestWatch(t *testing.T) {
	var broken atomic.Bool // the store cannot be read
	for name, test := range map[string]struct {
		change      func(r *record) // of the session, at first
		first, then string          // phase and how the reason begins
	}{
		"a login expires": { // without anybody's doing
			func(r *record) { r.Login = &login{Name: "x", URL: "https://a/", Expires: time.Now().Add(time.Minute)} },
			"login pending, ", "logged out, ",
		},
		"a token ends": {
			func(r *record) {
				r.Grant = &auth.TokenSet{Token: auth.Token{Access: "a", Type: "Bearer", Obtained: time.Now(), Expires: time.Now().Add(time.Minute)}}
			},
			"logged in, ", "logged out, the token has ended",
		},
		"the store could not be read": {
			func(r *record) { r.DeclinedReason = loggedOut },
			"logged out, session: user \"alice\" at server \"s\": cannot load", "logged out, " + loggedOut,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := &testStore{Store: storage.NewMemory(), load: func(context.Context) error {
					if broken.Load() {
						return errDisk
					}
					return nil
				}}
				m, config := newOffline(t, sealed(t, disk))
				defer m.Close()
				alter(t, m.store, alice, func(r *record) { r.URL = config.URL; test.change(r) })
				assert.Value(m.Status(t.Context(), alice))(t)
				broken.Store(name == "the store could not be read")
				time.AfterFunc(time.Minute, func() { broken.Store(false) })
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				next, end := iter.Pull(m.Watch(ctx, alice))
				defer end()
				for _, want := range []string{test.first, test.then} {
					s, _ := next()
					got := s.Phase.String() + ", " + s.Reason
					assert.Equal(t, got[:min(len(got), len(want))], want, "status")
				}
			})
		})
	}
}

// Who looks after sessions sees which ones cannot be renewed, and why.
func TestStatusTellsOfFailures(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	env.as.ExpireAll()
	env.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Status: 503})
	env.mustFailToRefresh(m)
	assert.Equal(t, assert.As[*auth.OAuthError](t, env.wantStatus(m, alice, LoggedIn).Err).Status, 503, "status of the error")
	env.mustCall(env.manager(nil), alice) // another process, which need not wait
	assert.OK(t, env.wantStatus(m, alice, LoggedIn).Err)
}

func TestStatusAsJSON(t *testing.T) {
	got := assert.Value(json.Marshal(Status{
		Key: alice, Phase: LoginPending, LoginURL: "https://login.example", LoginExpires: time.Unix(1, 0).UTC(), Err: errors.New("s3cret"),
	}))(t)
	assert.Equal(t, string(got), `{"key":{"user":"alice","server":"s"},"phase":"login_pending","renewable":false,`+
		`"loginUrl":"https://login.example","loginExpires":"1970-01-01T00:00:01Z"}`)
}
