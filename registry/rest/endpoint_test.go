package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

func TestDescriptionsAreChecked(t *testing.T) {
	yes := true
	big := json.RawMessage(`{"type":"string","description":"` + strings.Repeat("x", 300<<10) + `"}`)
	for _, test := range []struct {
		ep   Endpoint
		want string // field and the beginning of the text; empty: it is let through
	}{
		{Endpoint{}, ""},
		{Endpoint{Name: "a b"}, `name contains ' '`},
		{Endpoint{Name: strings.Repeat("x", 129)}, "name has 129 characters"},
		{Endpoint{Method: "get"}, `method is "get"; it is one of GET`},
		{Endpoint{Method: "CONNECT"}, `method is "CONNECT"`},
		{Endpoint{TimeoutSeconds: -1}, "timeoutSeconds is not from 0 to 3600"},
		{Endpoint{TimeoutSeconds: 7_200}, "timeoutSeconds is not"},
		{Endpoint{MaxBytes: -1}, "maxBytes is not"},
		{Endpoint{MaxBytes: maxAnswer + 1}, "maxBytes is not"},
		{Endpoint{Defs: json.RawMessage(`[]`)}, "defs is not an object"},
		{Endpoint{Defs: json.RawMessage(`{"a":{},"a":{}}`)}, "defs is not an object"},
		{Endpoint{Defs: json.RawMessage(`{"a":{"$ref":"#/$defs/none"}}`)}, "defs cannot be used"},

		{Endpoint{Path: "x"}, `path does not begin with "/"`},
		{Endpoint{Path: "//evil.example/"}, "path has an empty segment"},
		{Endpoint{Path: "/a//b"}, "path has an empty segment"},
		{Endpoint{Path: "/a/"}, ""},
		{Endpoint{Path: "/"}, ""},
		{Endpoint{Path: "/a/../b"}, "path has a segment that leads out of it"},
		{Endpoint{Path: "/a/%2e%2E/b"}, "path has a segment that leads out of it"},
		{Endpoint{Path: "/a/.%252e/b"}, "path has a segment that leads out of it"},
		{Endpoint{Path: "/a/..%2fb"}, "path has a segment that leads out of it"},
		{Endpoint{Path: "/a/..;x=1/b"}, "path has a segment that leads out of it"},
		{Endpoint{Path: "/..."}, "path has a segment that leads out of it"},
		{Endpoint{Path: `/a\b`}, "path has characters that no path has"},
		{Endpoint{Path: "/a b"}, "path has characters that no path has"},
		{Endpoint{Path: "/é"}, "path has characters that no path has"},
		{Endpoint{Path: "/a\r\n"}, "path has characters that no path has"},
		{Endpoint{Path: "/a}b"}, "path has characters that no path has"},
		{Endpoint{Path: "/a?b=c"}, `path has a '?'; a query is made of params`},
		{Endpoint{Path: "/a#b"}, `path has a '#'`},
		{Endpoint{Path: "/a%zz"}, `path has a "%" that begins no escape`},
		{Endpoint{Path: "/a%2"}, `path has a "%" that begins no escape`},
		{Endpoint{Path: "/a{b"}, `path has a "{" that begins no {name}`},
		{Endpoint{Path: "/a{}"}, `path has a "{" that begins no {name}`},
		{Endpoint{Path: "/" + strings.Repeat("x", maxPath)}, "path is longer"},
		{Endpoint{Path: "/{a}"}, `path has {a}, but there is no parameter`},
		{Endpoint{Path: "/{a}", Params: []Param{inPlace(InQuery, "a", "", "")}}, `path has {a}, but there is no parameter`},
		{Endpoint{Path: "/{a}/{a}", Params: []Param{inPlace(InPath, "a", "", "")}}, `path has {a} twice`},
		{Endpoint{Path: "/b", Params: []Param{inPlace(InPath, "a", "", "")}}, `params[0].name is not in the path`},
		{Endpoint{Path: "/x:{a}.json/{b}", Params: []Param{inPlace(InPath, "a", "", ""), inPlace(InPath, "b", "", "")}}, ""},

		{Endpoint{Params: []Param{{In: InQuery}}}, "params[0].name is empty"},
		{Endpoint{Params: []Param{inPlace(InQuery, "a\x00", "", "")}}, "params[0].name has control characters"},
		{Endpoint{Params: []Param{inPlace(InQuery, strings.Repeat("a", 129), "", "")}}, "params[0].name is longer"},
		{Endpoint{Params: []Param{{Name: "a", In: InQuery, Argument: "\xff"}}}, "params[0].argument has control characters or is not UTF-8"},
		{Endpoint{Params: []Param{inPlace("form", "a", "", "")}}, "params[0].in is none of path"},
		{Endpoint{Params: []Param{inPlace(InQuery, "a", "", ""), inPlace(InHeader, "a", "", "")}}, `params[1].argument is "a", as that of another`},
		{Endpoint{Params: []Param{inPlace(InQuery, "a", "", ""), {Name: "a", Argument: "b", In: InQuery}}}, `params[1].name is sent as "a" in the query`},
		{Endpoint{Params: []Param{inPlace(InHeader, "X-A", "", ""), inPlace(InHeader, "x-a", "", "")}}, `params[1].name is sent as "x-a" in the header`},
		{Endpoint{Params: []Param{inPlace(InQuery, "a", "", ""), {Name: "a", Argument: "b", In: InHeader}}}, ""},
		{Endpoint{Params: []Param{inPlace(InHeader, "a b", "", "")}}, "params[0].name is not the name of a header"},
		{Endpoint{Params: []Param{inPlace(InHeader, "Host", "", "")}}, "params[0].name is a header that belongs to the connection"},
		{Endpoint{Params: []Param{inPlace(InHeader, "content-length", "", "")}}, "params[0].name is a header that belongs to the connection"},
		{Endpoint{Params: []Param{inPlace(InHeader, "Transfer-Encoding", "", "")}}, "params[0].name is a header that belongs to the connection"},
		{Endpoint{Params: []Param{inPlace(InHeader, "Proxy-Authorization", "", "")}}, "params[0].name is a header that belongs to the connection"},
		{Endpoint{Params: []Param{inPlace(InHeader, "Cookie", "", "")}}, `params[0].name is for a login`},
		{Endpoint{Params: []Param{inPlace(InHeader, "Authorization", "", "")}}, `params[0].name is for a login`},
		{Endpoint{Params: []Param{inPlace(InHeader, "Content-Type", "", "")}}, `params[0].name is set from body.contentType`},
		{Endpoint{Params: []Param{inPlace(InHeader, "x-fixed", "", "")}}, `params[0].name is among the headers of the API`},
		{Endpoint{Params: []Param{inPlace(InQuery, "a", "", "matrix")}}, `params[0].style is "matrix"; in the query it is form or json`},
		{Endpoint{Path: "/{a}", Params: []Param{inPlace(InPath, "a", "", "form")}}, `params[0].style is "form"; in the path it is simple or json`},
		{Endpoint{Method: "POST", Params: []Param{inPlace(InBody, "a", "", "form")}}, `params[0].style is not for a body of JSON`},
		{Endpoint{Params: []Param{inPlace(InQuery, "a", `{"type":"object"}`, "")}}, "params[0].style has to be json"},
		{Endpoint{Params: []Param{inPlace(InQuery, "a", `false`, "")}}, "params[0].schema is not a JSON Schema"},
		{Endpoint{Params: []Param{inPlace(InQuery, "a", `{"type":"string"`, "")}}, "params[0].schema is not a JSON Schema"},
		{Endpoint{Params: []Param{inPlace(InQuery, "a", `{"type":"nothing"}`, "")}}, "params[0].schema cannot be used"},
		{Endpoint{Params: []Param{inPlace(InQuery, "a/b", `{"$ref":"https://evil.example/"}`, "")}}, "params[0].schema cannot be used"},
		{Endpoint{Params: []Param{{Name: "a", In: InQuery, Schema: big}}}, "params cannot be used"},
		{Endpoint{Params: make([]Param, maxParams+1)}, "params are 257"},

		{Endpoint{Params: []Param{{Name: "a", In: InQuery, Default: json.RawMessage(`'`)}}}, "params[0].default is not JSON"},
		{Endpoint{Params: []Param{{Name: "a", In: InQuery, Default: json.RawMessage(` "x" `)}}}, ""},

		{Endpoint{Params: []Param{inPlace(InBody, "a", "", "")}}, "method is GET"},
		{Endpoint{Method: "DELETE", Body: &Body{Argument: "b"}}, ""},
		{Endpoint{Method: "POST", Body: &Body{ContentType: "json"}}, "body.contentType is no media type"},
		{Endpoint{Method: "POST", Body: &Body{ContentType: "text/plain; charset=latin1", Argument: "a"}}, "body.contentType asks for a charset"},
		{Endpoint{Method: "POST", Body: &Body{ContentType: "multipart/mixed", Argument: "a"}}, "body.contentType is a multipart type other"},
		{Endpoint{Method: "POST", Body: &Body{ContentType: "text/plain\r\nX: y", Argument: "a"}}, "body.contentType is no media type"},
		{Endpoint{Method: "POST", Body: &Body{ContentType: "text/plain"}}, "body.argument is missing"},
		{Endpoint{Method: "POST", Body: &Body{ContentType: "text/plain"}, Params: []Param{inPlace(InBody, "a", "", "")}}, "params[0].in is body, but"},
		{Endpoint{Method: "POST", Body: &Body{Argument: "b"}, Params: []Param{inPlace(InBody, "a", "", "")}}, "body.argument is the whole body, but"},
		{Endpoint{Method: "POST", Body: &Body{Argument: "a"}, Params: []Param{inPlace(InQuery, "a", "", "")}}, `body.argument is "a", as that of a parameter`},
		{Endpoint{Method: "POST", Body: &Body{Schema: json.RawMessage(`{}`)}}, "body.schema is that of body.argument"},
		{Endpoint{Method: "POST", Body: &Body{Argument: "a", Schema: json.RawMessage(`[]`)}}, "body.schema is not a JSON Schema"},
		{Endpoint{Method: "POST", Body: &Body{Argument: "a", Schema: json.RawMessage(`{"type":7}`)}}, "body.schema cannot be used"},
		{Endpoint{Method: "POST", Body: &Body{Argument: "b", Schema: json.RawMessage(`{"$ref":"#/$defs/x"}`)}, Defs: json.RawMessage(`{"x":{}}`)}, ""},
		{Endpoint{Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}}, ""},
	} {
		if test.ep.Name == "" {
			test.ep.Name = "op"
		}
		_, err := New(&API{Name: "shop", BaseURL: "http://localhost", Headers: map[string]string{"X-Fixed": "1"}, Endpoints: []Endpoint{test.ep}}, nil)
		if test.want == "" {
			assert.OK(t, err)
			continue
		}
		bad := assert.As[*APIError](t, err, test.want)
		got := bad.Problems[0].Field + " " + bad.Problems[0].Text
		assert.Equal(t, got[:min(len(got), len(test.want))], test.want, "%.200s", fmt.Sprint(test.ep))
		assert.False(t, len(err.Error()) > 3_000, "%d are more than %d", len(err.Error()), 3_000)
		assert.Equal(t, bad.Problems[0].Endpoint, test.ep.Name)
	}
}

// All that is wrong is told at once, up to a limit, with its place.
func TestAllProblemsAtOnce(t *testing.T) {
	api := &API{Name: "my shop", BaseURL: "ftp://x", Endpoints: []Endpoint{
		{Name: "a", Method: "X", Path: "b"}, {Name: "a"}, {Path: "/{c}"},
	}}
	_, err := New(api, nil)
	var got []string
	for _, p := range assert.As[*APIError](t, err).Problems {
		got = append(got, p.Endpoint+" "+p.Field)
	}
	assert.Equal(t, strings.Join(got, "; "), " name;  baseUrl; a method; a path; a name; endpoints[2] name; endpoints[2] path")
	assert.ContainsAll(t, err.Error(), `API "my shop"`, `endpoint "a": method is "X"`)
	for range 300 {
		api.Endpoints = append(api.Endpoints, Endpoint{Name: "a"})
	}
	_, err = New(api, nil)
	assert.Equal(t, len(assert.As[*APIError](t, err).Problems), maxProblems, "problems")
	assert.Contains(t, err.Error(), "; and 80 more")
	api = &API{Name: "shop", BaseURL: "http://localhost", Endpoints: make([]Endpoint, maxEndpoints+1)}
	assert.Contains(t, fmt.Sprint(assert.Err(New(api, nil))), "endpoints are 5001, at most 5000")
	assert.Fails(t, assert.Err(New(nil, nil)), "no API")
}

// The schema of a tool, in the order of its parameters.
func TestInputSchema(t *testing.T) {
	s := newTestService(t, &API{Name: "shop", BaseURL: "http://localhost", Endpoints: []Endpoint{{
		Name: "op", Method: "POST", Path: "/{id}", Title: "Op", Description: "Does it.",
		Params: []Param{
			{Name: "z", In: InQuery, Description: "the last", Required: true},
			{Name: "id", In: InPath, Schema: json.RawMessage(`{"type":"integer","description":"old","title":"T"}`), Description: `"new"`},
			{Name: "page", In: InQuery, Argument: "p", Schema: json.RawMessage(` {"type":"integer","default":7} `), Default: json.RawMessage(`1`), Required: true},
			{Name: "ref", In: InHeader, Schema: json.RawMessage(`{"$ref":"#/$defs/r"}`)},
			{Name: "any", In: InQuery, Schema: json.RawMessage(`true`)},
		},
		Body: &Body{Argument: "body", Required: true, Schema: json.RawMessage(`{"$ref":"#/$defs/r"}`)},
		Defs: json.RawMessage(`{"r":{"type":"object","properties":{"r":{"$ref":"#/$defs/r"}}}}`),
	}}})
	def := s.Tools()[0].Definition()
	const want = `{"type":"object","properties":{` +
		`"z":{"type":"string","description":"the last"},` +
		`"id":{"type":"integer","title":"T","description":"\"new\""},` +
		`"p":{"type":"integer","description":"x","default":1},` +
		`"ref":{"$ref":"#/$defs/r"},"any":{},"body":{"$ref":"#/$defs/r"}},` +
		`"required":["z","id","body"],"additionalProperties":false,` +
		`"$defs":{"r":{"type":"object","properties":{"r":{"$ref":"#/$defs/r"}}}}}`
	assert.Equal(t, string(def.InputSchema), strings.Replace(want, `"description":"x",`, "", 1))
	assert.Equal(t, fmt.Sprintf("%q %q %q %q %s", def.Name, def.Title, def.Description, def.Origin.Server+"/"+def.Origin.Tool, def.OutputSchema), `"" "Op" "Does it." "shop/op" `)
}

// The annotations follow from the method.
func TestAnnotationsFollowFromTheMethod(t *testing.T) {
	for method, want := range map[string][3]bool{ // reads only, destroys, is idempotent
		"": {true, false, true}, "GET": {true, false, true},
		"POST": {false, true, false}, "PATCH": {false, true, false}, "PUT": {false, true, true}, "DELETE": {false, true, true},
	} {
		s := newTestService(t, &API{Name: "shop", BaseURL: "http://localhost", Endpoints: []Endpoint{{Name: "op", Method: method}}})
		h := s.Tools()[0].Definition().Hints()
		assert.Equal(t, [3]bool{h.ReadOnly, h.Destructive, h.Idempotent}, want, "%s", method)
		assert.True(t, h.Annotated, "%s: h.Annotated", method)
		assert.True(t, h.OpenWorld, "%s: h.OpenWorld", method)
	}
	s := newTestService(t, &API{Name: "shop", BaseURL: "http://localhost", Endpoints: []Endpoint{{Name: "op", Method: "POST", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}}})
	assert.True(t, s.Tools()[0].Definition().Hints().ReadOnly, "read-only by its own annotations")
}
