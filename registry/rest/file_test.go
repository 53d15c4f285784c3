package rest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// wide returns an API that uses all fields.
func wide(t testing.TB) *API {
	yes := true
	api := &API{
		Name: "shop-1", BaseURL: "https://api.shop.example/${TENANT}/v1", Trusted: true, HealthPath: "/health",
		Auth: Auth{Type: FetchToken, In: InHeader, Name: "X-Token", Value: "T {{token}}", Token: &TokenRequest{
			URL: "https://login.shop.example/${TENANT}", JSON: true,
			Fields: map[string]string{"grant_type": "client_credentials", "client_secret": "${SECRET}"},
			User:   "me", Password: "${PASSWORD}", Extract: "data.token", Rejected: []string{"token_expired"},
		}},
		Headers: map[string]string{"Accept": "application/json", "X-Key": "a ${KEY} $$", "X-Shop-Version": "3"},
		Endpoints: []Endpoint{{
			Name: "put_order", Title: "Put", Description: "Orders <&> more", Method: "PUT", Path: "/orders/{id}", Defs: json.RawMessage(`{"n":{"type":"integer","maximum":12345678901234567890}}`),
			Params: []Param{
				{Name: "id", In: InPath, Description: "which", Schema: json.RawMessage(`{"$ref":"#/$defs/n"}`), Required: true, Default: json.RawMessage(`12345678901234567890`), Style: "simple", Explode: &yes},
				{Name: "q", Argument: "query", In: InQuery, Schema: json.RawMessage(`{"type":"string"}`)},
			},
			Body:        &Body{ContentType: "application/json", Argument: "order", Schema: json.RawMessage(`{"type":"object"}`), Required: true},
			Annotations: &mcp.ToolAnnotations{Title: "T", IdempotentHint: true, DestructiveHint: &yes}, TimeoutSeconds: 5, MaxBytes: 1000, Disabled: true,
		}},
	}
	unset := 0
	for i, v := 0, reflect.ValueOf(*api); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			unset++
		}
	}
	assert.Equal(t, unset, 0, "an API has fields that this test does not know")
	return api
}

func TestExportAndParse(t *testing.T) {
	api := wide(t)
	data, left, err := Export(api, &API{Name: "b", BaseURL: "http://10.0.0.1"})
	assert.OK(t, err)
	assert.Equal(t, len(left), 0)
	again, _, err := Export(api, &API{Name: "b", BaseURL: "http://10.0.0.1"})
	assert.OK(t, err)
	assert.Equal(t, string(again), string(data))
	assert.Contains(t, string(data), "Orders <&> more")
	apis := assert.Value(Parse(data))(t)
	assert.Equal(t, len(apis), 2, "APIs")
	assert.Equal(t, jsonOf(t, apis[0]), jsonOf(t, api), "what is read")
}

func TestExportWithoutSecrets(t *testing.T) {
	shop := func(a Auth, headers map[string]string) *API {
		return &API{Name: "shop.1", BaseURL: "https://api.example", Auth: a, Headers: headers}
	}
	for _, test := range []struct {
		api  *API
		want []string // names of secrets
	}{
		{shop(Auth{Type: Bearer, Value: testSecret}, nil), []string{"SHOP_1_AUTH_VALUE"}},
		{shop(Auth{Type: APIKey, In: InQuery, Value: testSecret}, nil), []string{"SHOP_1_AUTH_VALUE"}},
		{shop(Auth{Type: Basic, User: "me", Password: testSecret}, nil), []string{"SHOP_1_AUTH_PASSWORD"}},
		{shop(Auth{Type: Basic, User: testSecret}, nil), []string{"SHOP_1_AUTH_USER"}},
		{shop(Auth{Type: Bearer, Value: "${SHOP_1_HEADERS_X_A}"}, map[string]string{"Accept": "a", "X-A": testSecret, "x_a": testSecret, "User-Agent": "u", "X-Api-Version": "3"}),
			[]string{"SHOP_1_HEADERS_X_A_2", "SHOP_1_HEADERS_X_A_3"}},
		{shop(Auth{Type: FetchToken, Token: &TokenRequest{
			URL: "https://login.example/t", User: "u", Password: testSecret, Fields: map[string]string{"grant_type": "g", "pin": testSecret},
		}}, nil), []string{"SHOP_1_AUTH_TOKEN_PASSWORD", "SHOP_1_AUTH_TOKEN_FIELDS_PIN"}},
		{shop(Auth{Type: FetchToken, Token: &TokenRequest{URL: "https://login.example/t", User: testSecret}}, nil), []string{"SHOP_1_AUTH_TOKEN_USER"}},
	} {
		before := fmt.Sprintf("%+v %+v", test.api, test.api.Auth.Token)
		data, left, err := Export(test.api)
		assert.OK(t, err)
		for _, name := range left {
			assert.Contains(t, string(data), "${"+name+"}")
		}
		assert.Equal(t, strings.Join(left, ","), strings.Join(test.want, ","))
		assert.False(t, showsSecret(string(data)), "%s shows the secret", data)
		assert.Equal(t, fmt.Sprintf("%+v %+v", test.api, test.api.Auth.Token), before, "the API was changed to")
		// It can be read, and does not log in with what it is not.
		apis, err := Parse(data)
		assert.OK(t, err, "%s", data)
		assert.Equal(t, len(apis), 1, "%s", data)
		s := assert.Value(New(apis[0], &Options{Secrets: testSecrets}))(t)
		err = s.Health(t.Context())
		assert.Is(t, err, ErrNotSet)
		assert.Contains(t, err.Error(), "SHOP_1_")
		_ = s.Close()
	}
}

func TestExportRefuses(t *testing.T) {
	good := &API{Name: "a", BaseURL: "https://api.example"}
	for _, test := range []struct {
		api  *API
		want string
	}{
		{&API{Name: "b", BaseURL: "nowhere"}, "baseUrl"},
		{&API{Name: "a", BaseURL: "https://api.example"}, "another API"},
		{nil, "nil"},
	} {
		data, left, err := Export(good, test.api)
		assert.Contains(t, fmt.Sprint(err), test.want)
		assert.Equal(t, len(data)+len(left), 0, "%s: what is written", test.want)
	}
	data, _, err := Export()
	assert.OK(t, err)
	assert.Equal(t, string(data), "{\n  \"apis\": []\n}\n")
}

// An error names the API and what is wrong with it, and shows no value. Nothing is read then.
func TestParseRefuses(t *testing.T) {
	api := func(more string) string { return `{"apis":[{"name":"a","baseUrl":"https://a.example"` + more + `}]}` }
	for text, want := range map[string]string{
		``:                                   "rest: 1:1",
		`[]`:                                 `one key, "apis"`,
		`{}`:                                 `one key, "apis"`,
		`{"apis":{}}`:                        `one key, "apis"`,
		`{"apis":[],"more":1}`:               `one key, "apis"`,
		`{"apis":[],"apis":[]}`:              "1:12: apis",
		`{"apis":[]} x`:                      "1:13",
		`{"apis":[null]}`:                    "null is no API",
		`{"apis":[17]}`:                      "line 1, apis[0]: ",
		"{\"apis\":[\n{\"name\":\"a\"}]}":    `line 2, apis[0]: rest: API "a": baseUrl is no absolute URL`,
		"{\"apis\":[\"s3cr3t/v=\n\"]}":       "rest: ",
		api(`,"auth":{"value":7}`):           "auth.value: a value is not a string",
		api(`,"auth":["s3cr3t"]`):            "auth: a value is not a rest.Auth",
		api(`,"base_url":"s3cr3t"`):          `unknown field "base_url"`,
		api(`,"headers":{"X-A":["s3cr3t"]}`): "headers: a value is not a string",
		api(`,"endpoints":[{"annotations":{"readOnlyHint":1}}`): "",
		api(`,"auth":{"type":"bearer","value":"********"}`):     "auth.value is a mask",
		api(`},{"name":"a","baseUrl":"https://a.example"`):      "apis[1]: rest: API \"a\": name is that of another API",
		api(`,"trusted":1},{"name":"b"`):                        "apis[1]: ",
	} {
		apis, err := Parse([]byte(text))
		assert.Equal(t, len(apis), 0, "APIs")
		assert.Fails(t, err, "%s", text)
		assert.Contains(t, err.Error(), want)
		assert.Lacks(t, err.Error(), "s3cr3t")
	}
	assert.Equal(t, len(assert.Value(Parse([]byte(`{"apis":[ /* none */ ],}`)))(t)), 0)
}

func TestSecretsOfAnAPI(t *testing.T) {
	assert.Equal(t, fmt.Sprint(wide(t).Secrets()), "[KEY PASSWORD SECRET TENANT]")
}

func FuzzParse(f *testing.F) {
	data, _, err := Export(wide(f))
	assert.OK(f, err)
	f.Add(data)
	f.Add([]byte(`{"apis":[{"name":"a","baseUrl":"https://a.example/$${X}/${Y}","auth":{"type":"basic","user":"$","password":"$$"},"endpoints":[]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		apis, err := Parse(data)
		if err != nil {
			if apis != nil {
				t.Fatal("a part was read")
			}
			return
		}
		text, left, err := Export(apis...)
		assert.OK(t, err)
		again, err := Parse(text)
		assert.OK(t, err, "%s", text)
		twice, none, err := Export(again...)
		assert.OK(t, err, "%v", left)
		assert.Equal(t, fmt.Sprint(none), "[]", "%v", left)
		assert.Equal(t, string(twice), string(text), "%v", left)
	})
}
