package rest

import (
	"encoding/json"
	"mime"
	"mime/multipart"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const (
	anyList = `{"type":"array"}`
)

// Every style as it arrives at a real server. The values are those of the table in
// OpenAPI 3.1, section 4.8.12, where it has them.
func TestStylesArrive(t *testing.T) {
	const list = `{"c":["blue","black","brown"]}`
	rec := newTestServer(t, nil)
	for _, test := range []struct {
		param      Param
		args, want string
	}{
		{inPlace(InPath, "c", "", ""), `{"c":"blue"}`, "/p/blue/x"},
		{inPlace(InPath, "c", "", ""), `{"c":"a/b?c#d%2fé ;=,"}`, "/p/a%2Fb%3Fc%23d%252f%C3%A9%20%3B%3D%2C/x"},
		{inPlace(InPath, "c", `{}`, ""), `{"c":12345678901234567890.10}`, "/p/12345678901234567890.10/x"},
		{inPlace(InPath, "c", `{}`, ""), `{"c":true}`, "/p/true/x"},
		{inPlace(InPath, "c", anyList, ""), list, "/p/blue,black,brown/x"},
		{inPlace(InPath, "c", anyList, "simple", true), list, "/p/blue,black,brown/x"},
		{inPlace(InPath, "c", anyList, "json"), `{"c":[1, "a"]}`, "/p/%5B1%2C%22a%22%5D/x"},

		{inPlace(InQuery, "c", "", ""), `{}`, "/p"},
		{inPlace(InQuery, "c", "", ""), `{"c":null}`, "/p"},
		{inPlace(InQuery, "c", "", ""), `{"c":""}`, "/p?c="},
		{inPlace(InQuery, "c", "", ""), `{"c":"a&b=c#d+e f%20é"}`, "/p?c=a%26b%3Dc%23d%2Be%20f%2520%C3%A9"},
		{inPlace(InQuery, "c", `{}`, ""), `{"c":-1.50e+300}`, "/p?c=-1.50e%2B300"},
		{inPlace(InQuery, "c", `{}`, ""), `{"c":false}`, "/p?c=false"},
		{inPlace(InQuery, "c[]", "", ""), `{"c[]":"x"}`, "/p?c%5B%5D=x"},
		{inPlace(InQuery, "c", anyList, ""), list, "/p?c=blue&c=black&c=brown"},
		{inPlace(InQuery, "c", anyList, ""), `{"c":[]}`, "/p"},
		{inPlace(InQuery, "c", anyList, "form", false), `{"c":[]}`, "/p"},
		{inPlace(InQuery, "c", anyList, "form", false), `{"c":["a,b",1,true]}`, "/p?c=a%2Cb,1,true"},
		{inPlace(InQuery, "c", `{"type":"object"}`, "json"), `{"c": {"R" : [1.0]} }`, "/p?c=%7B%22R%22%3A%5B1.0%5D%7D"},
		{inPlace(InQuery, "c", "", "json"), `{"c": "x"}`, "/p?c=%22x%22"},
	} {
		ep := Endpoint{Path: "/p", Params: []Param{test.param}}
		if test.param.In == InPath {
			ep.Path = "/p/{c}/x"
		}
		got := rec.arrive(t, rec.serve(t, ep), test.args)
		assert.Equal(t, got.uri, test.want, "%+v %s", test.param, test.args)
		assert.Equal(t, got.method, "GET", "%+v %s", test.param, test.args)
		assert.Equal(t, got.body, "", "%+v %s", test.param, test.args)
	}
}

// The path and the base URL arrive as they are written.
func TestLiteralPathsArrive(t *testing.T) {
	rec := newTestServer(t, nil)
	for _, test := range []struct{ base, path, want string }{
		{"", "", "/"}, {"", "/", "/"}, {"/v1", "", "/v1"}, {"/v1/", "/x", "/v1/x"}, {"/v1", "/x/", "/v1/x/"},
		{"/v1", "/", "/v1/"},
		{"", "/Users('{c}')/a:b;c=d,e@f!$&*+/%41%2f.x~", "/Users('1%27%29')/a:b;c=d,e@f!$&*+/%41%2f.x~"},
		{"/a%20b", "/{c}{d}/{d2}.json", "/a%20b/1%27%29x/y.json"},
	} {
		ep := Endpoint{Name: "op", Path: test.path}
		if strings.Contains(test.path, "{") {
			ep.Params = []Param{{Name: "c", In: InPath, Default: json.RawMessage(`"1')"`)}}
		}
		if strings.Contains(test.path, "{d}") {
			ep.Params = append(ep.Params, Param{Name: "d", In: InPath, Default: json.RawMessage(`"x"`)}, Param{Name: "d2", In: InPath, Default: json.RawMessage(`"y"`)})
		}
		s := newTestService(t, &API{Name: "shop", BaseURL: rec.URL + test.base, Endpoints: []Endpoint{ep}})
		assert.Equal(t, rec.arrive(t, s, `{}`).uri, test.want, "%s %s", test.base, test.path)
	}
}

// Headers as they arrive.
func TestHeadersArrive(t *testing.T) {
	rec := newTestServer(t, nil)
	for _, test := range []struct {
		param            Param
		args, name, want string
	}{
		{inPlace(InHeader, "X-Tag", "", ""), `{"X-Tag":"a, b;\té"}`, "X-Tag", "a, b;\té"},
		{inPlace(InHeader, "x-tag", `{}`, ""), `{"x-tag":9007199254740993}`, "X-Tag", "9007199254740993"},
		{inPlace(InHeader, "X-Tag", anyList, ""), `{"X-Tag":["a","b c",3]}`, "X-Tag", "a,b c,3"},
		{inPlace(InHeader, "X-Tag", `{"type":"object"}`, "json"), `{"X-Tag":{ "R":[1] }}`, "X-Tag", `{"R":[1]}`},
		{inPlace(InHeader, "X-Tag", "", ""), `{"X-Tag":""}`, "X-Tag", ""},
		{inPlace(InHeader, "Accept", "", ""), `{"Accept":"text/csv"}`, "Accept", "text/csv"},
	} {
		values := rec.arrive(t, rec.serve(t, Endpoint{Path: "/p", Params: []Param{test.param}}), test.args).header.Values(test.name)
		assert.Equal(t, len(values), 1, "%+v %s", test.param, test.args)
		assert.Equal(t, values[0], test.want, "%+v %s", test.param, test.args)
	}
	got := rec.arrive(t, rec.serve(t, Endpoint{Path: "/p", Params: []Param{inPlace(InHeader, "X-Tag", `{}`, ""), inPlace(InHeader, "X-Id", `{}`, "")}}), `{"X-Tag":[],"X-Id":null}`)
	assert.Equal(t, len(got.header.Values("X-Tag"))+len(got.header.Values("X-Id")), 0, "headers of no value")
	assert.True(t, got.header.Get("Accept") != "", "there is a header Accept")
}

// What has no exact form where it should go is refused by name, and never by value.
func TestWhatHasNoFormIsRefused(t *testing.T) {
	rec := newTestServer(t, nil)
	for _, test := range []struct {
		param      Param
		args, want string
	}{
		{inPlace(InPath, "c", "", ""), `{"c":""}`, `"c" must be a value, not none`},
		{inPlace(InPath, "c", "", ""), `{"c":null}`, `"c" must be a value, not none`},
		{inPlace(InPath, "c", "", ""), `{"c":[]}`, `"c" must be a value, not none`},
		{inPlace(InPath, "c", "", ""), `{"c":[""]}`, `"c" must be a value that stays in its place`},
		{inPlace(InPath, "c", "", ""), `{}`, `"c" is missing; it must be a value`},
		{inPlace(InPath, "c", "", ""), `{"c":"a\u0000"}`, "without control characters"},
		{inPlace(InPath, "c", "", ""), `{"c":"a\r\nb"}`, "without control characters"},
		{inPlace(InPath, "c", "", ""), `{"c":[["x"]]}`, `"c[0]" must be a string, a number or a boolean, not an array`},
		{inPlace(InQuery, "c", `{}`, ""), `{"c":{"admin":1}}`, `"c" must be a string, a number or a boolean, not an object`},
		{inPlace(InPath, "c", "", ""), `{"c":[null]}`, "not null"},
		{inPlace(InQuery, "c", "", ""), `{"c":"` + strings.Repeat("x", maxTarget) + `"}`, "at most 8192 bytes long in path and query"},
		{inPlace(InHeader, "X-Tag", "", ""), `{"X-Tag":"a\r\nX-Admin: 1"}`, "without control characters"},
		{inPlace(InHeader, "X-Tag", "", ""), `{"X-Tag":"a\u0000"}`, "without control characters"},
		{inPlace(InHeader, "X-Tag", "", ""), `{"X-Tag":" a"}`, "without blanks at its ends"},
		{inPlace(InHeader, "X-Tag", "", ""), `{"X-Tag":["a,b"]}`, `without ","`},
		{inPlace(InHeader, "X-Tag", "", ""), `{"X-Tag":["a",""]}`, "or is empty"},
		{inPlace(InHeader, "X-Tag", "", ""), `{"X-Tag":"` + strings.Repeat("x", maxHeader+1) + `"}`, "at most 8 KiB"},
	} {
		ep := Endpoint{Path: "/p", Params: []Param{test.param}}
		if test.param.In == InPath {
			ep.Path = "/p/{c}/x"
		}
		assert.Contains(t, rec.refuse(t, rec.serve(t, ep), test.args).Error(), test.want, "%+v %.60s", test.param, test.args)
	}
}

// Bodies of each kind as they arrive, byte for byte where they are JSON.
func TestBodiesArrive(t *testing.T) {
	members := []Param{inPlace(InBody, "a", `{}`, ""), inPlace(InBody, `b"`, `{}`, "")}
	rec := newTestServer(t, nil)
	for _, test := range []struct {
		params           []Param
		body             *Body
		args, want, kind string
	}{
		{members, nil, `{"b\"": {"x": 1.00, "y":[1e400]}, "a":12345678901234567890}`, `{"a":12345678901234567890,"b\"":{"x": 1.00, "y":[1e400]}}`, "application/json"},
		{members, nil, `{}`, `{}`, "application/json"},
		{members, nil, `{"a":null}`, `{"a":null}`, "application/json"},
		{members, &Body{ContentType: "application/merge-patch+json; charset=utf-8"}, `{"a":"\u003c"}`, `{"a":"\u003c"}`, "application/merge-patch+json; charset=utf-8"},
		{nil, nil, `{}`, "", ""},
		{nil, &Body{Argument: "body"}, `{}`, "", ""},
		{nil, &Body{Argument: "body"}, `{"body": [1.0 , 2] }`, `[1.0 , 2]`, "application/json"},
		{nil, &Body{Argument: "body"}, `{"body":null}`, `null`, "application/json"},
		{nil, &Body{Argument: "body", ContentType: "text/plain"}, `{"body":"a\u0000\nb é"}`, "a\x00\nb é", "text/plain"},
		{nil, &Body{Argument: "body", ContentType: "application/xml"}, `{"body":"<a/>"}`, "<a/>", "application/xml"},
		{members, &Body{ContentType: "application/x-www-form-urlencoded"}, `{"a":"x&y=z +é","b\"":[1,true,"q"]}`, "a=x%26y%3Dz%20%2B%C3%A9&b%22=1&b%22=true&b%22=q", "application/x-www-form-urlencoded"},
		{members, &Body{ContentType: "application/x-www-form-urlencoded"}, `{"a":{"x": 1},"b\"":null}`, "a=%7B%22x%22%3A1%7D", "application/x-www-form-urlencoded"},
		{[]Param{inPlace(InBody, "a", anyList, "form", false)}, &Body{ContentType: "application/x-www-form-urlencoded"}, `{"a":[1,2]}`, "a=1%2C2", "application/x-www-form-urlencoded"},
		{[]Param{inPlace(InBody, "a", anyList, "json")}, &Body{ContentType: "application/x-www-form-urlencoded"}, `{"a":[1,2]}`, "a=%5B1%2C2%5D", "application/x-www-form-urlencoded"},
		{nil, &Body{Argument: "form", ContentType: "application/x-www-form-urlencoded"}, `{"form":{"a&b":"c","d":[1,2]}}`, "a%26b=c&d=1&d=2", "application/x-www-form-urlencoded"},
	} {
		s := rec.serve(t, Endpoint{Method: "POST", Path: "/p", Params: test.params, Body: test.body})
		got := rec.arrive(t, s, test.args)
		assert.Equal(t, got.body, test.want, "%+v %s", test.body, test.args)
		assert.Equal(t, got.header.Get("Content-Type"), test.kind, "%+v %s", test.body, test.args)
		assert.Equal(t, got.method, "POST", "%+v %s", test.body, test.args)
		assert.Equal(t, got.uri, "/p", "%+v %s", test.body, test.args)
	}
}

// What is no body of the kind is refused.
func TestBodiesAreRefused(t *testing.T) {
	rec := newTestServer(t, nil)
	const form = "application/x-www-form-urlencoded"
	for _, test := range []struct {
		params     []Param
		body       *Body
		args, want string
	}{
		{nil, &Body{Argument: "body", Required: true}, `{}`, `"body" is missing; it must be the body of the request`},
		{nil, &Body{Argument: "body", ContentType: "text/plain"}, `{"body":1}`, `"body" must be a string, not a number`},
		{nil, &Body{Argument: "f", ContentType: form}, `{"f":[1]}`, `"f" must be an object, not an array`},
		{nil, &Body{Argument: "f", ContentType: form}, `{"f":{"a":[[1]]}}`, `must be a string, a number or a boolean`},
		{nil, &Body{Argument: "f", ContentType: "multipart/form-data"}, `{"f":{"a\u0000":1}}`, `a name that a form can have`},
		{nil, &Body{Argument: "f", ContentType: form}, `{"f":{"":1}}`, `a name that a form can have`},
		{[]Param{inPlace(InBody, "a", anyList, "form", false)}, &Body{ContentType: form}, `{"a":["x,y"]}`, `without ","`},
	} {
		s := rec.serve(t, Endpoint{Method: "POST", Path: "/p", Params: test.params, Body: test.body})
		assert.Contains(t, rec.refuse(t, s, test.args).Error(), test.want, "%+v %s", test.body, test.args)
	}
}

// What a model could write without end has an end.
func TestCallsAreBounded(t *testing.T) {
	rec := newTestServer(t, nil)
	form := &Body{ContentType: "application/x-www-form-urlencoded"}
	many := strings.Repeat("1,", maxItems)
	for _, test := range []struct {
		ep         Endpoint
		args, want string
	}{
		{Endpoint{Params: []Param{inPlace(InQuery, "a", anyList, "")}}, `{"a":[` + many + `1]}`, `"a" must be of at most 10000 elements`},
		{Endpoint{Params: []Param{inPlace(InQuery, "a", anyList, "")}}, `{"a":[` + many[:len(many)-1] + `]}`, `at most 8192 bytes long in path and query`},
		{Endpoint{Method: "POST", Body: &Body{ContentType: form.ContentType, Argument: "f"}}, `{"f":{"a":[` + many[:len(many)-1] + `],"b":[1,2],"c":3}}`, `"f" must be of at most 10000 fields`},
		{Endpoint{Method: "POST", Body: &Body{Argument: "b"}}, `{"b":"` + strings.Repeat("x", maxBody) + `"}`, `in the body`},
		{Endpoint{}, `{` + unknownKeys(10_000) + `}`, `"k0" is not known`},
	} {
		err := rec.refuse(t, rec.serve(t, test.ep), test.args)
		assert.False(t, len(err.Error()) > 2_000, "%d are more than %d", len(err.Error()), 2_000)
		assert.False(t, len(err.Problems) > 8, "%d are more than %d", len(err.Problems), 8)
		assert.Contains(t, err.Error(), test.want)
	}
}

func unknownKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = `"k` + strconv.Itoa(i) + `":1`
	}
	return strings.Join(keys, ",")
}

// The parts of a multipart form are those that were sent, whatever is in them.
func TestMultipartArrives(t *testing.T) {
	rec := newTestServer(t, nil)
	s := rec.serve(t, Endpoint{Method: "PUT", Path: "/p", Body: &Body{ContentType: "multipart/form-data"}, Params: []Param{
		inPlace(InBody, `a"; x="`, "", ""), inPlace(InBody, "b", `{}`, ""),
	}})
	const hostile = "\r\n--x\r\nContent-Disposition: form-data; name=\"admin\"\r\n\r\n1\r\n--x--\r\n"
	got := rec.arrive(t, s, jsonOf(t, map[string]any{`a"; x="`: hostile, "b": []any{"é", 2}}))
	_, params, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	assert.OK(t, err)
	form := assert.Value(multipart.NewReader(strings.NewReader(got.body), params["boundary"]).ReadForm(1 << 20))(t)
	assert.Equal(t, len(form.Value), 2)
	assert.Equal(t, form.Value["a%22; x=%22"][0], hostile)
	assert.Equal(t, strings.Join(form.Value["b"], "|"), "é|2")
}

// What it costs to make a request of arguments, without sending it.
func BenchmarkRequest(b *testing.B) {
	s := newTestService(b, &API{Name: "shop", BaseURL: "https://api.example", Endpoints: []Endpoint{hostileEndpointNamed("op")}})
	args := json.RawMessage(`{"id":"order 66","q":"a&b","deep":{"k":"d"},"list":["l",1],"X-H":"h","field":"some text","other":"more"}`)
	b.ReportAllocs()
	for b.Loop() {
		assert.Value(s.ops[0].build(args))(b)
	}
}

func hostileEndpointNamed(name string) Endpoint {
	ep := hostileEndpoint()
	ep.Name = name
	return ep
}

// What it costs to check and prepare a large API.
func BenchmarkNew(b *testing.B) {
	api := &API{Name: "shop", BaseURL: "https://api.example"}
	for i := range 1_000 {
		api.Endpoints = append(api.Endpoints, hostileEndpointNamed("op"+string(rune('a'+i%26))+"-"+jsonOf(b, i)))
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = assert.Value(New(api, nil))(b).Close()
	}
}
