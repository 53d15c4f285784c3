package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/session"
)

// maxShown bounds the rows of one answer.
const maxShown = 1000

func loginRoutes() []*route {
	return []*route{
		on("GET", "/api/v1/me", View, "Show who makes the request, and their roles", (*request).showMe),
		on("GET", "/api/v1/sessions", View, "List the logins of users at servers, at most 1000", (*request).listSessions).of("sessions"),
		on("POST", "/api/v1/sessions/{server}/login", Operate, "Begin the login of the caller at a server", (*request).beginLogin),
		with("POST", "/api/v1/sessions/complete", Operate, "Complete the login, of the caller or of all, that a browser has come back from", (*request).completeLogin),
		with("POST", "/api/v1/sessions/{server}/logout", Operate, "End the login of a user at a server; of the caller, if the body names none", (*request).logout),
		on("GET", "/api/v1/keys", View, "List the API keys", (*request).listKeys).of("keys"),
		with("POST", "/api/v1/keys", StdioWrite, "Make an API key, with any rights; its secret is shown this once", (*request).makeKey).of("keys"),
		with("PUT", "/api/v1/keys/{id}", StdioWrite, "Change what the body names of an API key; its secret stays", (*request).changeKey).of("keys"),
		on("DELETE", "/api/v1/keys/{id}", Operate, "Revoke an API key", (*request).revokeKey).of("keys"),
	}
}

// An identity says who makes a request.
type identity struct {
	User       string `json:"user,omitempty"`
	Credential string `json:"credential,omitempty"`
	Roles      []Role `json:"roles"`
	Replica    string `json:"replica,omitempty"` // that answers, if it shares calls with others
}

// A begunLogin says where the user goes on.
type begunLogin struct {
	URL      string    `json:"url,omitempty"` // empty: they need not
	UserCode string    `json:"userCode,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
}

// A completedLogin has the address at which the browser came back, and then whose login it is.
type completedLogin struct {
	Callback string `json:"callback,omitempty"`
	Server   string `json:"server,omitempty"`
	User     string `json:"user,omitempty"`
}

type logoutInput struct {
	User string `json:"user,omitempty"`
}

// A madeKey is a new key with its secret.
type madeKey struct {
	Key    access.Key `json:"key"`
	Secret string     `json:"secret"`
}

func (q *request) showMe() (identity, error) {
	return identity{q.caller.User, q.caller.Credential, q.roles, q.opts.Replicas.ID()}, nil
}

func (q *request) listSessions() ([]session.Status, error) {
	m, shown := q.opts.Sessions, []session.Status{}
	for key, err := range m.Keys(q.Context()) {
		if err != nil {
			continue // it cannot be read, and the others follow
		}
		s, err := m.Status(q.Context(), key)
		if err != nil {
			return nil, err
		}
		s.LoginURL, s.UserCode = "", "" // it is for the user alone
		if shown = append(shown, s); len(shown) == maxShown {
			break
		}
	}
	return shown, nil
}

func (q *request) beginLogin() (begunLogin, error) {
	l, err := q.host.Login(q.forUser(), session.Key{Server: q.PathValue("server")})
	if err != nil {
		return begunLogin{}, loginFailed(err)
	}
	return begunLogin{l.URL, l.UserCode, l.Expires}, nil
}

// completeLogin completes no login of another user: they would get the account of the caller.
func (q *request) completeLogin(in *completedLogin) (completedLogin, error) {
	key, err := q.host.Complete(q.Context(), in.Callback, &session.CompleteOptions{})
	if isA[*session.UserError](err) && q.caller.User != "" {
		key, err = q.host.Complete(q.Context(), in.Callback, &session.CompleteOptions{User: q.caller.User})
	}
	if isA[*session.UserError](err) {
		err = &failure{status: http.StatusForbidden, code: codeForbidden, detail: "another user has begun this login"}
	}
	return completedLogin{Server: key.Server, User: key.User}, loginFailed(err)
}

// loginFailed says why a login failed where it would only be said that it did: errors about
// logins hold no secrets, but for those of the store.
func loginFailed(err error) error {
	if err == nil || isA[*session.StoreError](err) || failureOf(err).code != "internal" {
		return err
	}
	return &failure{status: http.StatusBadGateway, code: "login_failed", detail: err.Error()}
}

func (q *request) logout(in *logoutInput) (logoutInput, error) {
	return *in, q.host.Logout(q.forUser(), session.Key{User: in.User, Server: q.PathValue("server")})
}

func (q *request) listKeys() ([]access.Key, error) {
	all, err := q.opts.Keys.List(q.Context())
	return append([]access.Key{}, all...), err
}

func (q *request) makeKey(in *access.KeyOptions) (madeKey, error) {
	secret, made, err := q.opts.Keys.Create(q.Context(), *in)
	if err != nil {
		return madeKey{}, &failure{status: http.StatusBadRequest, code: "value_invalid", detail: err.Error()}
	}
	return madeKey{made, secret}, nil
}

// changeKey leaves alone what the body does not name: a grant that is forgotten would allow all.
func (q *request) changeKey(in *access.KeyOptions) (access.Key, error) {
	all, err := q.listKeys()
	if err != nil {
		return access.Key{}, err
	}
	i := slices.IndexFunc(all, func(k access.Key) bool { return k.ID == q.PathValue("id") })
	if i < 0 {
		return access.Key{}, access.ErrNoKey
	}
	k := all[i]
	grant := k.Grant
	k.Grant = nil // that of the body is not put into that of the key
	if err := q.decode(&k.KeyOptions); err != nil {
		return access.Key{}, err
	}
	var named struct{ Grant json.RawMessage }
	if err := json.Unmarshal(q.data, &named); err == nil && named.Grant == nil {
		k.Grant = grant
	}
	err = q.opts.Keys.Change(q.Context(), k.ID, k.KeyOptions)
	if err != nil && !errors.Is(err, access.ErrNoKey) {
		err = &failure{status: http.StatusBadRequest, code: "value_invalid", detail: err.Error()}
	}
	return k, err
}

func (q *request) revokeKey() (removal, error) {
	id := q.PathValue("id")
	return removal{ID: id}, q.opts.Keys.Revoke(q.Context(), id)
}
