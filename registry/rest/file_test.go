package rest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// wide returns an API that uses all fields.
func wide(t testing.TB) *API {
	yes := true
	api := &API{
		Name: "shop-1", Description: "Orders <&> more", BaseURL: "https://api.shop.example/${TENANT}/v1", Trusted: true, Disabled: true, HealthPath: "/health",
		Auth: Auth{Type: FetchToken, In: InHeader, Name: "X-Token", Value: "T {{token}}", Token: &TokenRequest{
			URL: "https://login.shop.example/${TENANT}?secret=${SECRET}&audience=a", Method: "POST", Encoding: JSONEncoding,
			Fields: map[string]string{"grant_type": "client_credentials", "client_secret": "${SECRET}"}, Headers: map[string]string{"X-Client": "${CLIENT}"},
			User: "me", Password: "${PASSWORD}", Extract: "data.token", ExpiresIn: "data.life", TTL: Duration(90 * time.Second), Rejected: []string{"token_expired"},
		}},
		Headers: map[string]string{"Accept": "application/json", "X-Key": "a ${KEY} $$", "X-Shop-Version": "3"},
		Endpoints: []Endpoint{{
			Name: "put_order", Title: "Put", Description: "Puts an order.", Method: "PUT", Path: "/orders/{id}", Defs: json.RawMessage(`{"n":{"type":"integer","maximum":12345678901234567890}}`),
			Params: []Param{
				{Name: "id", In: InPath, Description: "which", Schema: json.RawMessage(`{"$ref":"#/$defs/n"}`), Required: true, Default: json.RawMessage(`12345678901234567890`), Style: "simple", Explode: &yes},
				{Name: "q", Argument: "query", In: InQuery, Schema: json.RawMessage(`{"type":"string"}`)},
			},
			Body:        &Body{ContentType: "application/json", Argument: "order", Schema: json.RawMessage(`{"type":"object"}`), Required: true},
			Annotations: &mcp.ToolAnnotations{Title: "T", IdempotentHint: true, DestructiveHint: &yes}, Timeout: Duration(5 * time.Second), MaxBytes: 1000, Disabled: true,
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
		want []string // place and name
	}{
		{shop(Auth{Type: Bearer, Value: testSecret}, nil), []string{"auth.value SHOP_1_AUTH_VALUE"}},
		{shop(Auth{Type: APIKey, In: InQuery, Value: testSecret}, nil), []string{"auth.value SHOP_1_AUTH_VALUE"}},
		{shop(Auth{Type: Basic, User: "me", Password: testSecret}, nil), []string{"auth.password SHOP_1_AUTH_PASSWORD"}},
		{shop(Auth{Type: Basic, User: testSecret}, nil), []string{"auth.user SHOP_1_AUTH_USER"}},
		{shop(Auth{Type: Bearer, Value: "${SHOP_1_HEADERS_X_A}"}, map[string]string{"Accept": "a", "X-A": testSecret, "x_a": testSecret, "User-Agent": "u", "X-Api-Version": "3"}),
			[]string{"headers.X-A SHOP_1_HEADERS_X_A_2", "headers.x_a SHOP_1_HEADERS_X_A_3"}},
		{shop(Auth{Type: FetchToken, Token: &TokenRequest{
			URL: "https://login.example/t?scope=s&k=" + escape(testSecret), User: "u", Password: testSecret, Method: "POST",
			Fields: map[string]string{"grant_type": "g", "pin": testSecret}, Headers: map[string]string{"X-B": testSecret},
		}}, nil), []string{
			"auth.token.url.k SHOP_1_AUTH_TOKEN_URL_K", "auth.token.password SHOP_1_AUTH_TOKEN_PASSWORD",
			"auth.token.fields.pin SHOP_1_AUTH_TOKEN_FIELDS_PIN", "auth.token.headers.X-B SHOP_1_AUTH_TOKEN_HEADERS_X_B",
		}},
	} {
		before := fmt.Sprintf("%+v %+v", test.api, test.api.Auth.Token)
		data, left, err := Export(test.api)
		assert.OK(t, err)
		var got []string
		for _, p := range left {
			got = append(got, p.Place+" "+p.Name)
			assert.Equal(t, p.API, "shop.1")
			assert.Contains(t, string(data), "${"+p.Name+"}")
			assert.False(t, showsSecret(p.String()), "%v shows the secret", p)
		}
		assert.Equal(t, strings.Join(got, ","), strings.Join(test.want, ","))
		assert.False(t, showsSecret(string(data)), "%s shows the secret", data)
		assert.Equal(t, fmt.Sprintf("%+v %+v", test.api, test.api.Auth.Token), before, "the API was changed to")
		// It can be read, and does not log in with what it is not.
		apis, err := Parse(data)
		assert.OK(t, err, "%s", data)
		assert.Equal(t, len(apis), 1, "%s", data)
		s := assert.Value(New(apis[0], &Options{Secrets: testSecrets}))(t)
		err = s.Health(t.Context())
		secret := assert.As[*SecretError](t, err)
		assert.Is(t, err, ErrNotSet)
		assert.True(t, strings.HasPrefix(secret.Name, "SHOP_1_"), "%q begins with %q", secret.Name, "SHOP_1_")
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

func TestParseTellsAllThatIsWrong(t *testing.T) {
	apis, err := Parse([]byte(`{
  // Comments are fine.
  "api": [],
  "apis": [
    {"name": "good", "baseUrl": "https://api.example", "endpoints": []},
    {"name": "shape", "BaseURL": "s3cr3t/v=lue+x", "trusted": "s3cr3t/v=lue+x", "headers": {"X-A": 1}, "endpoints": [{
      "name": "e", "path": "/", "timeout": "soon", "maxBytes": 1.5, "max_bytes": 1, "params": [{"in": null}], "annotations": {"readOnlyHint": 1}, "body": [],
    }], "auth": {"token": {"ttl": 7, "rejected": "x"}}},
    {"name": "good", "baseUrl": "s3cr3t/v=lue+x", "auth": {"type": "bearer", "value": "********"}, "headers": {"X-A.b": "${"}, "endpoints": [
      {"name": "same", "path": "/{x}"},
      {"name": "same", "path": "/"},
      {"name": "", "path": "/"},
    ]},
    17,
  ],
}`))
	assert.Equal(t, len(apis), 0, "APIs")
	noSecretIn(t, err)
	want := []string{
		"3:3: api: there is no such key",
		`6:23: apis[1].BaseURL: there is no such key; write "baseUrl"`,
		"6:63: apis[1].trusted: must be a boolean, not a string",
		"6:100: apis[1].headers.X-A: must be a string, not a number",
		`7:44: apis[1].endpoints[0].timeout: is not a duration such as "30s"`,
		"7:64: apis[1].endpoints[0].maxBytes: must be a whole number",
		`7:69: apis[1].endpoints[0].max_bytes: there is no such key; write "maxBytes"`,
		"7:103: apis[1].endpoints[0].params[0].in: must be a string, not null",
		"7:143: apis[1].endpoints[0].annotations.readOnlyHint: must be a boolean, not a number",
		"7:155: apis[1].endpoints[0].body: must be an object, not an array",
		"8:35: apis[1].auth.token.ttl: must be a string, not a number",
		"8:50: apis[1].auth.token.rejected: must be an array, not a string",
		"9:5: apis[2].name: is that of another API",
		"9:5: apis[2].auth.value: is a mask",
		"9:5: apis[2].headers.X-A.b: has a ${ that is not closed",
		"9:5: apis[2].baseUrl: is no absolute URL",
		`10:7: apis[2].endpoints[0].path: has {x}, but there is no parameter`,
		"11:7: apis[2].endpoints[1].name: is that of another endpoint",
		"12:7: apis[2].endpoints[2].name: has 0 characters",
		"14:5: apis[3]: must be an object, not a number",
	}
	lines := strings.Split(err.Error(), "\n")
	assert.Equal(t, len(lines), len(want), "faults")
	for i, line := range lines {
		assert.True(t, strings.HasPrefix(line, "rest: apis:"+want[i]), "%q begins with %q", line, want[i])
	}
	fault := assert.As[*FileError](t, err)
	assert.Equal(t, fault.Line, 3)
	assert.Equal(t, fault.Column, 3)
	assert.Equal(t, fault.Key, "api")
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                             "rest: apis:1:1",
		`[]`:                           "1:1: must be an object, not an array",
		`{}`:                           `"apis" is missing`,
		`{"apis":{}}`:                  "1:9: apis: must be an array, not an object",
		`{"apis":[],"apis":[]}`:        "1:12: apis",
		`{"apis":[]} x`:                "1:13",
		`{"apis":[{"name":"a"}]}`:      "apis[0].baseUrl",
		"{\"apis\":[\"s3cr3t/v=\n\"]}": "rest: apis:",
	} {
		apis, err := Parse([]byte(text))
		assert.Equal(t, len(apis), 0, "APIs")
		assert.Contains(t, assert.As[*FileError](t, err, text).Error(), want)
		assert.Lacks(t, err.Error(), "s3cr3t")
	}
	assert.Equal(t, len(assert.Value(Parse([]byte(`{"apis":[]}`)))(t)), 0)
}

func TestSecretsOfAnAPI(t *testing.T) {
	assert.Equal(t, fmt.Sprint(wide(t).Secrets()), "[CLIENT KEY PASSWORD SECRET TENANT]")
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
