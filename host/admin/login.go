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
		{method: "GET", path: "/api/v1/me", role: View, summary: "Show who makes the request, and their roles", out: identity{}, serve: (*request).showMe},
		{method: "GET", path: "/api/v1/sessions", role: View, summary: "List the logins of users at servers, at most 1000", out: []session.Status{}, serve: (*request).listSessions},
		{method: "POST", path: "/api/v1/sessions/{server}/login", role: Operate, summary: "Begin the login of the caller at a server", out: begunLogin{}, serve: (*request).beginLogin},
		{method: "POST", path: "/api/v1/sessions/{server}/logout", role: Operate, summary: "End the login of a user at a server; of the caller, if the body names none", in: logoutInput{}, out: logoutInput{}, serve: (*request).logout},
		{method: "GET", path: "/api/v1/keys", role: View, summary: "List the API keys", out: []key{}, serve: (*request).listKeys},
		{method: "POST", path: "/api/v1/keys", role: StdioWrite, summary: "Make an API key, with any rights; its secret is shown this once", in: keyInput{}, out: madeKey{}, serve: (*request).makeKey},
		{method: "PUT", path: "/api/v1/keys/{id}", role: StdioWrite, summary: "Change what the body names of an API key; its secret stays", in: keyInput{}, out: key{}, serve: (*request).changeKey},
		{method: "DELETE", path: "/api/v1/keys/{id}", role: Operate, summary: "Revoke an API key", out: revokedKey{}, serve: (*request).revokeKey},
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

type logoutInput struct {
	User string `json:"user,omitempty"`
}

// A key is an API key without its secret.
type key struct {
	ID      string        `json:"id"`
	Label   string        `json:"label,omitempty"`
	User    string        `json:"user,omitempty"`
	Grant   *access.Grant `json:"grant,omitempty"`
	Created time.Time     `json:"created,omitzero"`
	Expires time.Time     `json:"expires,omitzero"`
	Used    time.Time     `json:"used,omitzero"`
}

type keyInput struct {
	Label   string        `json:"label,omitempty"`
	User    string        `json:"user,omitempty"`
	Grant   *access.Grant `json:"grant,omitempty"`
	Expires time.Time     `json:"expires,omitzero"`
}

// A madeKey is a new key with its secret.
type madeKey struct {
	Key    key    `json:"key"`
	Secret string `json:"secret"`
}

type revokedKey struct {
	ID string `json:"id"`
}

// missing is the failure of a route whose option is not set.
func missing(what string) *failure {
	return &failure{status: http.StatusNotFound, code: "not_configured", detail: "the program shows no " + what + " here"}
}

func (q *request) showMe() (any, error) {
	return identity{q.caller.User, q.caller.Credential, q.roles, q.opts.Replicas.ID()}, nil
}

func (q *request) listSessions() (any, error) {
	m := q.opts.Sessions
	if m == nil {
		return nil, missing("sessions")
	}
	shown := []session.Status{}
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

func (q *request) beginLogin() (any, error) {
	l, err := q.host.Login(q.forUser(), session.Key{Server: q.PathValue("server")})
	if err != nil {
		return nil, err
	}
	return begunLogin{l.URL, l.UserCode, l.Expires}, nil
}

func (q *request) logout() (any, error) {
	var in logoutInput
	if err := q.decode(&in); err != nil {
		return nil, err
	}
	return in, q.host.Logout(q.forUser(), session.Key{User: in.User, Server: q.PathValue("server")})
}

func showKey(k access.Key) key {
	return key{k.ID, k.Label, k.User, k.Grant, k.Created, k.Expires, k.Used}
}

func (q *request) listKeys() (any, error) {
	if q.opts.Keys == nil {
		return nil, missing("keys")
	}
	all, err := q.opts.Keys.List(q.Context())
	if err != nil {
		return nil, err
	}
	shown := make([]key, len(all))
	for i, k := range all {
		shown[i] = showKey(k)
	}
	return shown, nil
}

func (q *request) makeKey() (any, error) {
	var in keyInput
	if err := q.decode(&in); err != nil {
		return nil, err
	}
	if q.opts.Keys == nil {
		return nil, missing("keys")
	}
	secret, made, err := q.opts.Keys.Create(q.Context(), access.KeyOptions{Label: in.Label, User: in.User, Grant: in.Grant, Expires: in.Expires})
	if err != nil {
		return nil, &failure{status: http.StatusBadRequest, code: "value_invalid", detail: err.Error()}
	}
	return madeKey{showKey(made), secret}, nil
}

// changeKey leaves alone what the body does not name: a grant that is forgotten would allow all.
func (q *request) changeKey() (any, error) {
	if q.opts.Keys == nil {
		return nil, missing("keys")
	}
	all, err := q.opts.Keys.List(q.Context())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(k access.Key) bool { return k.ID == q.PathValue("id") })
	if i < 0 {
		return nil, access.ErrNoKey
	}
	k := &all[i]
	in := keyInput{Label: k.Label, User: k.User, Expires: k.Expires}
	if err := q.decode(&in); err != nil {
		return nil, err
	}
	var named struct{ Grant json.RawMessage }
	if err := json.Unmarshal(q.data, &named); err == nil && named.Grant == nil {
		in.Grant = k.Grant
	}
	k.KeyOptions = access.KeyOptions{Label: in.Label, User: in.User, Grant: in.Grant, Expires: in.Expires}
	err = q.opts.Keys.Change(q.Context(), k.ID, k.KeyOptions)
	if err != nil && !errors.Is(err, access.ErrNoKey) {
		return nil, &failure{status: http.StatusBadRequest, code: "value_invalid", detail: err.Error()}
	}
	return showKey(*k), err
}

func (q *request) revokeKey() (any, error) {
	if q.opts.Keys == nil {
		return nil, missing("keys")
	}
	id := q.PathValue("id")
	return revokedKey{id}, q.opts.Keys.Revoke(q.Context(), id)
}
