// Tests of auth_login.go and secret.go: what a login sends, and where secrets come from.

package rest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Each kind of login against a server that lets no one in without it.
func TestLogins(t *testing.T) {
	basic := func(credentials string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
	}
	key := func(in Place, name string) Auth { return Auth{Type: APIKey, In: in, Name: name, Value: "${KEY}"} }
	for _, test := range []struct {
		name string
		auth Auth
		want []string
	}{
		{"key in a header", key("", ""), []string{"X-Api-Key: " + testSecret}},
		{"key in a header of a name", Auth{Type: APIKey, In: InHeader, Name: "authorization", Value: "Key ${KEY}"}, []string{"Authorization: Key " + testSecret}},
		{"key in the query", key(InQuery, ""), []string{"POST /x?q=1&api_key=" + escape(testSecret)}},
		{"bearer", Auth{Type: Bearer, Value: "${TOKEN}"}, []string{"Authorization: Bearer " + testSecret}},
		{"bearer, literally", Auth{Type: Bearer, Value: testSecret}, []string{"Authorization: Bearer " + testSecret}},
		{"basic", Auth{Type: Basic, User: "${USER}", Password: "${PASSWORD}"}, []string{basic("alice12:" + testSecret)}},
		{"basic, in other letters", Auth{Type: Basic, User: "Дж$$n", Password: "пароль ${PASSWORD}"}, []string{basic("Дж$n:пароль " + testSecret)}},
		{"basic, key as a user", Auth{Type: Basic, User: "${USER}"}, []string{basic("alice12:")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newTestServer(t, func(w http.ResponseWriter, r *http.Request, body string) {
				if !(&arrival{r.Method, r.RequestURI, r.Header, body}).shows(test.want) {
					w.WriteHeader(http.StatusUnauthorized)
				}
				// It repeats all that it got.
				w.Header().Set("X-Echo", r.Header.Get("Authorization")+r.URL.RawQuery)
				_ = json.NewEncoder(w).Encode(map[string]any{"url": r.RequestURI, "headers": r.Header, "body": body})
			})
			send := func(auth Auth) int {
				s := newTestService(t, &API{BaseURL: server.URL + "/", Auth: auth})
				a := assert.Value(trySend(t, s, &request{endpoint: "put", method: "POST", path: "/x", query: []pair{{"q", "1"}}}))(t)
				assert.Lacks(t, string(a.Body)+a.Header.Get("X-Echo"), strings.TrimPrefix(basic("alice12:"+testSecret), "Authorization: Basic "))
				return a.Status
			}
			assert.Equal(t, send(test.auth), 200, "the status; the server got %+v", server.requests())
			wrong := test.auth
			wrong.Value = strings.NewReplacer("KEY", "USER", "TOKEN", "USER", testSecret, "other").Replace(wrong.Value)
			wrong.Password = strings.ReplaceAll(wrong.Password, "PASSWORD", "USER")
			if wrong.Value == "" && wrong.Password == "" {
				wrong.User = "bob"
			}
			assert.Equal(t, send(wrong), 401, "the status with a wrong key")
			assert.Equal(t, len(server.requests()), 2, "requests")
		})
	}
}

func TestHeadersOfAnAPI(t *testing.T) {
	server := newTestServer(t, nil)
	s := newTestService(t, &API{BaseURL: server.URL + "/v1/${TENANT}/", Headers: map[string]string{
		"x-version": "2", "X-Secret": "a${SECRET}b", "Cookie": "own=1", "X-Money": "5$$ ${USER} $x",
	}})
	r := get()
	r.header = http.Header{"X-Version": {"1"}, "X-Arg": {"y"}}
	mustSend(t, s, r)
	got := server.requests()[0]
	assert.Equal(t, got.uri, "/v1/acme%20&%20co/x", "what was asked for")
	for name, want := range map[string]string{"X-Version": "2", "X-Secret": "a" + testSecret + "b", "Cookie": "own=1", "X-Money": "5$ alice12 $x", "X-Arg": "y"} {
		assert.Equal(t, fmt.Sprint(got.header[name]), "["+want+"]", name)
	}
	assert.Equal(t, len(r.header), 2)
}

// Secrets that cannot be had or sent are errors before anything is sent.
func TestSecretsThatCannotBeUsed(t *testing.T) {
	server := newTestServer(t, nil)
	for _, test := range []struct {
		api  API
		name string // of the secret
		want string
	}{
		{API{Auth: Auth{Type: Bearer, Value: "${NOT_SET}"}}, "NOT_SET", `API "shop": endpoint "get": auth.value: the secret NOT_SET is not set`},
		{API{Auth: Auth{Type: Bearer, Value: "${EMPTY}"}}, "EMPTY", "is empty"},
		{API{Auth: Auth{Type: Bearer, Value: "${BROKEN}"}}, "BROKEN", "the vault is sealed"},
		{API{Auth: Auth{Type: Bearer, Value: "${LINES}"}}, "", "line break"},
		{API{Auth: Auth{Type: APIKey, Value: "${LINES}"}}, "", "line break"},
		{API{Auth: Auth{Type: Basic, User: "a", Password: "${LINES}"}}, "", "auth.password: has a line break"},
		{API{Auth: Auth{Type: Basic, User: "a:${KEY}"}}, "", "auth.user: has a colon"},
		{API{Headers: map[string]string{"X-Key": "${LINES}"}}, "", "headers.X-Key: holds a line break"},
		{API{Headers: map[string]string{"X-Key": "${NOT_SET}"}}, "NOT_SET", "headers.X-Key"},
		{API{BaseURL: "/${NOT_SET}"}, "NOT_SET", "baseUrl"},
		{API{BaseURL: "/a/${DOTS}/b"}, "", "baseUrl: has a segment"},
		{API{Auth: Auth{Type: FetchToken, Token: &TokenRequest{URL: server.URL, Fields: map[string]string{"id": "${NOT_SET}"}}}}, "NOT_SET", "auth.token.fields.id"},
	} {
		test.api.BaseURL = server.URL + test.api.BaseURL
		_, err := trySend(t, newTestService(t, &test.api), get())
		assert.Equal(t, assert.As[*secretError](t, err, "%+v", test.api).name, test.name, "%+v", test.api)
		assert.Contains(t, err.Error(), test.want, "%+v", test.api)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%+v", test.api)
		if test.name == "NOT_SET" {
			assert.Is(t, err, ErrNotSet)
		}
	}
	assert.Equal(t, len(server.requests()), 0)
}

func TestTheEnvironmentHasTheSecrets(t *testing.T) {
	server := newTestServer(t, nil)
	t.Setenv("REST_TEST_KEY", testSecret)
	s := assert.Value(New(&API{Name: "shop", BaseURL: server.URL, Auth: Auth{Type: Bearer, Value: "${REST_TEST_KEY}"}, Endpoints: []Endpoint{{Name: "a", Path: "/"}}}, nil))(t)
	defer s.Close()
	mustSend(t, s, get())
	assert.Equal(t, server.requests()[0].header.Get("Authorization"), "Bearer "+testSecret, "what was sent")
}

// The host is written down, so that no secret decides where the others go.
func TestHostsAreWrittenDown(t *testing.T) {
	for _, base := range []string{"https://${HOST}/", "https://a.${HOST}.example", "https://a.example:${PORT}/", "${SCHEME}://a.example"} {
		_, err := New(&API{Name: "shop", BaseURL: base}, nil)
		assert.Fails(t, err, "%s", base)
		assert.Contains(t, err.Error(), "before its path", "%s", base)
	}
}

func TestDescriptionsThatCannotLogIn(t *testing.T) {
	token := func(s TokenRequest) Auth {
		if s.URL == "" {
			s.URL = "https://login.example/token"
		}
		return Auth{Type: FetchToken, Token: &s}
	}
	for _, test := range []struct {
		api  API
		want []string // fields
	}{
		{API{Auth: Auth{Type: "oauth"}}, []string{"auth.type"}},
		{API{Auth: Auth{Value: "x"}}, []string{"auth.value"}},
		{API{Auth: Auth{Type: Bearer}}, []string{"auth.value"}},
		{API{Auth: Auth{Type: Bearer, Value: "${"}}, []string{"auth.value"}},
		{API{Auth: Auth{Type: Bearer, Value: "${A B}"}}, []string{"auth.value"}},
		{API{Auth: Auth{Type: Bearer, Value: "${}"}}, []string{"auth.value"}},
		{API{Auth: Auth{Type: Bearer, Value: "${A:-b}"}}, []string{"auth.value"}},
		{API{Auth: Auth{Type: Bearer, Value: "x", User: "u", In: InQuery, Name: "n"}}, []string{"auth.in", "auth.name", "auth.user"}},
		{API{Auth: Auth{Type: Basic, Password: "x"}}, []string{"auth.user"}},
		{API{Auth: Auth{Type: APIKey, Value: "x", In: "path"}}, []string{"auth.in"}},
		{API{Auth: Auth{Type: APIKey, Value: "x", Name: "Host"}}, []string{"auth.name"}},
		{API{Auth: Auth{Type: APIKey, Value: "x", Name: "a b"}}, []string{"auth.name"}},
		{API{Auth: Auth{Type: FetchToken}}, []string{"auth.token"}},
		{API{Auth: Auth{Type: FetchToken, Value: "x", Token: &TokenRequest{URL: "https://login.example/"}}}, []string{"auth.value"}},
		{API{Auth: token(TokenRequest{URL: "login.example"})}, []string{"auth.token.url"}},
		{API{Auth: token(TokenRequest{URL: "http://login.example"})}, []string{"auth.token.url"}},
		{API{Auth: token(TokenRequest{URL: "https://${HOST}/"})}, []string{"auth.token.url"}},
		{API{Auth: token(TokenRequest{URL: "https://169.254.169.254/latest"})}, []string{"auth.token.url"}},
		{API{Auth: token(TokenRequest{URL: "https://login.example/?a=b", Rejected: []string{" "}})},
			[]string{"auth.token.url", "auth.token.rejected[0]"}},
		{API{Auth: token(TokenRequest{Extract: "a..b"})}, []string{"auth.token.extract"}},
		{API{Auth: token(TokenRequest{Password: "x"})}, []string{"auth.token.password"}},
		{API{Headers: map[string]string{"a b": "1", "Host": "x", "X-A": "1", "x-a": "2", "X-B": "1\n2", "Content-Type": "x", "X-C": "${"}},
			[]string{"headers.Content-Type", "headers.Host", "headers.X-B", "headers.X-C", "headers", "headers.x-a"}},
		{API{Auth: Auth{Type: Bearer, Value: "x"}, Headers: map[string]string{"authorization": "x"}}, []string{"headers.authorization"}},
		{API{BaseURL: "https://api.example/a?b=c"}, []string{"baseUrl"}},
		{API{BaseURL: "https://api.example/a#b"}, []string{"baseUrl"}},
		{API{BaseURL: "https://u:" + testSecret + "@api.example/"}, []string{"baseUrl"}},
		{API{BaseURL: "https://${HOST}.example/"}, []string{"baseUrl"}},
		{API{BaseURL: "https://api.example/a/../b"}, []string{"baseUrl"}},
		{API{BaseURL: "https://api.example/a/%2e%2E/b"}, []string{"baseUrl"}},
		{API{BaseURL: "https://api.example/a b"}, []string{"baseUrl"}},
		{API{BaseURL: "http://api.example/"}, []string{"baseUrl"}},
		{API{BaseURL: "https://169.254.169.254/"}, []string{"baseUrl"}},
		{API{BaseURL: "https://[fd00:ec2::254]/"}, []string{"baseUrl"}},
		{API{BaseURL: "https://2130706433/"}, []string{"baseUrl"}},
		{API{BaseURL: "ftp://api.example/"}, []string{"baseUrl"}},
		{API{HealthPath: "health"}, []string{"healthPath"}},
		{API{HealthPath: "//evil.example/"}, []string{"healthPath"}},
		{API{HealthPath: "/a/../b"}, []string{"healthPath"}},
		{API{HealthPath: "/a#b"}, []string{"healthPath"}},
		{API{Auth: Auth{Type: APIKey, In: InQuery, Value: "x"}, Endpoints: []Endpoint{{Name: "a", Path: "/", Params: []Param{{Name: "api_key", In: InQuery}}}}}, []string{"params[0].name"}},
		{API{Auth: Auth{Type: FetchToken, In: InQuery, Token: &TokenRequest{URL: "https://login.example/"}}, Endpoints: []Endpoint{{Name: "a", Path: "/", Params: []Param{{Name: "access_token", In: InQuery}}}}}, []string{"params[0].name"}},
		{API{Auth: Auth{Type: FetchToken, Name: "X-T", Token: &TokenRequest{URL: "https://login.example/"}}, Endpoints: []Endpoint{{Name: "a", Path: "/", Params: []Param{{Name: "x-t", In: InHeader}}}}}, []string{"params[0].name"}},
		{API{Auth: Auth{Type: Basic, User: "x"}, Endpoints: []Endpoint{{Name: "a", Path: "/", Params: []Param{{Name: "authorization", In: InHeader}}}}}, []string{"params[0].name"}},
	} {
		test.api.Name = "shop"
		if test.api.BaseURL == "" {
			test.api.BaseURL = "https://api.example"
		}
		if test.api.Endpoints == nil {
			test.api.Endpoints = []Endpoint{{Name: "a", Method: "POST", Path: "/"}}
		}
		_, err := New(&test.api, nil)
		bad := assert.As[*APIError](t, err, "%+v", test.api)
		noSecretIn(t, err)
		var got []string
		for _, p := range bad.Problems {
			got = append(got, p.Field)
		}
		assert.Equal(t, strings.Join(got, " "), strings.Join(test.want, " "), "%+v", test.api)
	}
}
