package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

func toolNames(s *Service) string {
	var names []string
	for _, t := range s.Tools() {
		names = append(names, t.Definition().Origin.Tool)
	}
	return strings.Join(names, " ")
}

// A tool that is switched off is not offered, and cannot be called by those that still have it.
func TestToolsCanBeSwitchedOff(t *testing.T) {
	rec := newTestServer(t, nil)
	s := newTestService(t, &API{Name: "shop", BaseURL: rec.URL, Endpoints: []Endpoint{{Name: "a"}, {Name: "b", Disabled: true}, {Name: "c"}}})
	assert.Equal(t, toolNames(s), "a c")
	a := s.Tools()[0]
	assert.OK(t, s.SetEnabled("a", false))
	assert.OK(t, s.SetEnabled("b", true))
	assert.Equal(t, toolNames(s), "b c", "tools")
	_, err := a.Call(t.Context(), nil)
	off := assert.As[*callError](t, err)
	assert.Equal(t, off.api+" "+off.endpoint, "shop a")
	assert.As[*approval.DeniedError](t, err)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent)
	assert.Contains(t, result.Text(registry.ErrorResult(err)), "switched off")
	assert.Equal(t, len(rec.requests()), 0, "requests")
	assert.OK(t, s.SetEnabled("a", true))
	assert.False(t, assert.Value(a.Call(t.Context(), nil))(t).IsError, "an error of a tool that is switched on again")
	assert.Equal(t, s.SetEnabled("d", true).Error(), `rest: API "shop": endpoint "d": there is no such endpoint`)
}

// In a registry the tools are those of a server, and calls go all the way.
func TestPublish(t *testing.T) {
	rec := newTestServer(t, nil)
	api := &API{Name: "shop", BaseURL: rec.URL, Trusted: true, Endpoints: []Endpoint{
		{Name: "find", Path: "/find", Params: []Param{
			{Name: "q", In: InQuery, Required: true}, {Name: "max", In: InQuery, Schema: json.RawMessage(`{"type":"integer"}`), Default: json.RawMessage(`10`)},
		}},
		{Name: "drop", Method: "DELETE", Path: "/all"},
	}}
	s := newTestService(t, api)
	r := registry.New(nil)
	assert.Value(s.Publish(r))(t)
	assert.Value(r.Call(t.Context(), "shop__find", json.RawMessage(`{"q":"a b"}`)))(t)
	assert.Equal(t, rec.take().uri, "/find?q=a%20b&max=10")
	assert.As[*registry.ArgumentsError](t, assert.Err(r.Call(t.Context(), "shop__find", json.RawMessage(`{"q":1}`))))
	assert.OK(t, s.SetEnabled("drop", false))
	diff, err := s.Publish(r)
	assert.OK(t, err)
	assert.Equal(t, len(diff.Removed), 1)
	assert.As[*registry.UnknownToolError](t, assert.Err(r.Call(t.Context(), "shop__drop", nil)))
	assert.Fails(t, assert.Err(s.Publish(nil)))
}

// The API that a Service was made of can be changed without harm.
func TestNewCopies(t *testing.T) {
	rec := newTestServer(t, nil)
	schema, fallback, yes := json.RawMessage(`{"type":"string"}`), json.RawMessage(`"x"`), true
	api := &API{Name: "shop", BaseURL: rec.URL, Headers: map[string]string{"X-A": "1"}, Endpoints: []Endpoint{{
		Name: "op", Method: "POST", Path: "/p", Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes},
		Params: []Param{{Name: "q", In: InQuery, Schema: schema, Default: fallback}},
	}}}
	s := newTestService(t, api)
	before := jsonOf(t, s.Tools()[0].Definition()) + s.Server().Fingerprint
	api.BaseURL, api.Headers["X-A"], api.Endpoints[0].Path, api.Endpoints[0].Params[0].Name, yes = "http://127.0.0.1:1", "2", "/evil", "evil", false
	copy(schema, `{"type":"number"}`)
	copy(fallback, `"y"`)
	assert.Equal(t, jsonOf(t, s.Tools()[0].Definition())+s.Server().Fingerprint, before)
	got := rec.arrive(t, s, `{}`)
	assert.Equal(t, got.uri+" "+got.header.Get("X-A"), "/p?q=x 1", "what arrived")
}

// The fingerprint is of what requests do, and of nothing else.
func TestFingerprint(t *testing.T) {
	whole := func() *API {
		return &API{Name: "shop", BaseURL: "https://api.example/v1", Auth: Auth{Type: Bearer, Value: "${KEY}"}, Headers: map[string]string{"X-A": "1"}, Endpoints: []Endpoint{
			{Name: "a", Path: "/a/{id}", Params: []Param{inPlace(InPath, "id", "", ""), inPlace(InQuery, "q", "", "")}},
			{Name: "b", Method: "POST", Path: "/b", Params: []Param{inPlace(InBody, "x", "", "")}},
		}}
	}
	after := func(change func(*API)) string {
		api := whole()
		if change != nil {
			change(api)
		}
		return newTestService(t, api).Server().Fingerprint
	}
	same := after(nil)
	assert.Equal(t, len(same), 64)
	assert.Equal(t, same, after(nil))
	for name, change := range map[string]func(*API){
		"description": func(a *API) { a.Endpoints[0].Description = "x" }, // that is for the ledger
		"schema":      func(a *API) { a.Endpoints[0].Params[1].Schema = json.RawMessage(`{}`) },
		"disabled":    func(a *API) { a.Endpoints[0].Disabled = true },
		"header":      func(a *API) { a.Headers["X-A"] = "2" },
		"method GET":  func(a *API) { a.Endpoints[0].Method = "GET" },
		"timeout":     func(a *API) { a.Endpoints[0].TimeoutSeconds = 1 },
	} {
		assert.Equal(t, after(change), same, "%s", name)
	}
	for name, change := range map[string]func(*API){
		"url":                     func(a *API) { a.BaseURL = "https://api.example/v2" },
		"login":                   func(a *API) { a.Auth = Auth{Type: APIKey, Value: "${KEY}"} },
		"secret":                  func(a *API) { a.Auth.Value = "${OTHER}" },
		"secret in another place": func(a *API) { a.Headers["X-A"] = "${KEY}" },
		"headers":                 func(a *API) { a.Headers["X-B"] = "1" },
		"path":                    func(a *API) { a.Endpoints[0].Path = "/x/{id}" },
		"method":                  func(a *API) { a.Endpoints[1].Method = "PUT" },
		"place":                   func(a *API) { a.Endpoints[0].Params[1].In = InHeader },
		"name":                    func(a *API) { a.Endpoints[0].Params[1] = Param{Name: "r", Argument: "q", In: InQuery} },
		"kind":                    func(a *API) { a.Endpoints[1].Body = &Body{ContentType: "multipart/form-data"} },
	} {
		assert.False(t, after(change) == same, "%s: the fingerprint is the same", name)
	}
}

// The time of the endpoint is the API's failure, not the caller's.
func TestTheTimeOfAnEndpointIsAResult(t *testing.T) {
	rec := newTestServer(t, nil)
	rec.answer = func(_ http.ResponseWriter, r *http.Request, _ string) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	res := assert.Value(callOnly(t, rec.serve(t, Endpoint{Path: "/p", TimeoutSeconds: 1}), `{}`))(t)
	assert.True(t, res.IsError, "an error")
	assert.Contains(t, result.Text(res), "1s")
	assert.False(t, mcp.OutcomeOf(res.Err) == mcp.Answered, "it was answered")
}

// Calls, switches and lists at one time.
func TestServiceIsSafeForConcurrentUse(t *testing.T) {
	rec := newTestServer(t, nil)
	s := newTestService(t, &API{Name: "shop", BaseURL: rec.URL, Endpoints: []Endpoint{
		{Name: "a", Method: "POST", Params: []Param{inPlace(InBody, "x", "", "")}}, {Name: "b"},
	}})
	tool, r := s.Tools()[0], registry.New(nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				assert.Equal(t, assert.Err(tool.Call(t.Context(), json.RawMessage(`{"x":"1"}`))), nil, "a call")
				assert.Equal(t, s.SetEnabled("b", i%2 == 0), nil, "SetEnabled")
				assert.Equal(t, assert.Err(s.Publish(r)), nil, "Publish")
			}
		})
	}
	wg.Wait()
}

// Arguments of a call past a registry.
func TestArgumentsWithoutARegistry(t *testing.T) {
	rec := newTestServer(t, nil)
	s := rec.serve(t, Endpoint{Path: "/p", Params: []Param{
		{Name: "a", In: InQuery, Required: true}, {Name: "b", In: InQuery, Schema: json.RawMessage(`{"type":"integer","default":7}`)},
		{Name: "c", In: InQuery, Required: true, Default: json.RawMessage(`"x y"`)},
		{Name: "d", In: InQuery, Schema: json.RawMessage(`{"type":"integer","default":"wrong"}`)},
		{Name: "e", In: InQuery, Schema: json.RawMessage(`{"type":["integer","null"],"default":null}`), Default: json.RawMessage(`null`)},
	}})
	assert.Equal(t, rec.arrive(t, s, ` {"a":"1"} `).uri, "/p?a=1&c=x%20y")
	assert.Equal(t, rec.arrive(t, s, `{"a":"\u0031","b":null,"c":"z"}`).uri, "/p?a=1&c=z")
	for args, want := range map[string]string{
		``:                 `arguments of tool "op": "a" is missing; it must be a value`,
		`null`:             `"a" is missing`,
		`{}`:               `"a" is missing`,
		`[1]`:              `must be a JSON object, not an array`,
		`{"a":1`:           `must be valid JSON`,
		`{"a":1,"a":2}`:    `"a" must be given once, not twice`,
		`{"x":1,"y":{}}`:   `"x" is not known; "y" is not known`,
		"{\"a\":\"\xff\"}": `must be valid JSON`,
	} {
		assert.Contains(t, rec.refuse(t, s, args).Error(), want, "%s", args)
	}
}
