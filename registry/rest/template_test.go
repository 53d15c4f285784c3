package rest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A template keeps its order and the spelling of what goes into it, and leaves out
// what it has no argument for.
func TestTemplates(t *testing.T) {
	rec := newTestServer(t, nil)
	for _, test := range []struct{ template, args, want string }{
		{`{"a":"{{x}}","b":1.0}`, `{"x":12345678901234567890}`, `{"a":12345678901234567890,"b":1.0}`},
		{`{"a":"{{x}}"}`, `{"x":{"q" : 1.00}}`, `{"a":{"q" : 1.00}}`},
		{`{"a":"{{ x }}"}`, `{"x":null}`, `{"a":null}`},
		{`{"a":"{{x}}"}`, `{"x":"\",\"admin\":\""}`, `{"a":"\",\"admin\":\""}`},
		{`{"a":"{{x}}!"}`, `{"x":"\",\"admin\":\""}`, `{"a":"\",\"admin\":\"!"}`},
		{`{"a":"{{x}}{{y}}"}`, `{"x":"{{y}}","y":"z\\"}`, `{"a":"{{y}}z\\"}`},
		{`{"a":"is {{x}}, {{y}}"}`, `{"x":1.50,"y":true}`, `{"a":"is 1.50, true"}`},
		{`{"a":"is {{x}}"}`, `{"x":[1, "b"]}`, `{"a":"is [1,\"b\"]"}`},
		{`{"a":"is {{x}}","b":2}`, `{}`, `{"b":2}`},
		{`{"a":"is {{x}}","b":2}`, `{"x":null}`, `{"b":2}`},
		{`{"b":2,"a":"{{x}}"}`, `{}`, `{"b":2}`},
		{`{"a":"{{x}}","b":"{{y}}","c":"{{x}}"}`, `{"y":1}`, `{"b":1}`},
		{`{"a":{"b":"{{x}}"},"c":[]}`, `{}`, `{"a":{},"c":[]}`},
		{`["{{x}}",1,"{{y}}",[["{{x}}"]]]`, `{"y":2}`, `[1,2,[[]]]`},
		{`["{{x}}","{{y}}",3]`, `{"x":1}`, `[1,3]`},
		{`"{{x}}"`, `{"x":[1]}`, `[1]`},
		{`"{{x}}"`, `{}`, ``},
		{`{"a":"plain \u00e9","b":"}} {"}`, `{}`, `{"a":"plain \u00e9","b":"}} {"}`},
		{`{ "a" : [ 1 , { "b" : "{{x}}" } ] , "q\"" : 0 }`, `{"x":"1"}`, `{"a":[1,{"b":"1"}],"q\"":0}`},
		{` [ "{{x}}" ] `, `{"x":0}`, `[0]`},
	} {
		s := rec.serve(t, Endpoint{Method: "POST", Path: "/p", Body: &Body{Template: json.RawMessage(test.template)}, Params: []Param{
			{Name: "x", In: InQuery, Schema: json.RawMessage(`{}`), Style: "json"}, {Name: "y", In: InQuery, Schema: json.RawMessage(`{}`)},
		}})
		assert.Equal(t, rec.arrive(t, s, test.args).body, test.want, "%s %s", test.template, test.args)
	}
	s := rec.serve(t, Endpoint{Method: "POST", Path: "/p",
		Body:   &Body{ContentType: "application/x-www-form-urlencoded", Template: json.RawMessage(`{"kind":"a&b","text":"{{x}}","n":"{{y}}"}`)},
		Params: []Param{inPlace(InBody, "x", "", ""), inPlace(InBody, "y", `{}`, "")},
	})
	assert.Equal(t, rec.arrive(t, s, `{"x":"1&kind=2"}`).body, "kind=a%26b&text=1%26kind%3D2")
	s = rec.serve(t, Endpoint{Method: "POST", Path: "/p", Body: &Body{ContentType: "application/x-www-form-urlencoded", Template: json.RawMessage(`{"a":"b"}`)}})
	assert.Equal(t, rec.arrive(t, s, `{}`).body, "a=b")
}

// A small template cannot make a huge body of a large argument.
func TestTemplatesAreBounded(t *testing.T) {
	rec := newTestServer(t, nil)
	for _, hole := range []string{`"{{x}}"`, `"{{x}}{{x}}{{x}}{{x}}"`} {
		template := "[" + strings.Repeat(hole+",", 2_000) + "1]"
		s := rec.serve(t, Endpoint{Method: "POST", Path: "/p", Params: []Param{inPlace(InBody, "x", "", "")}, Body: &Body{Template: json.RawMessage(template)}})
		err := rec.refuse(t, s, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
		assert.Contains(t, err.Error(), "at most 16777216 bytes long in the body")
	}
}

// FuzzTemplate looks for values that leave their place in a template.
func FuzzTemplate(f *testing.F) {
	f.Add(`{"a":"{{x}}","b":["{{y}} and {{x}}"]}`, `"1","admin":"2`, `{"k":1}`)
	f.Add(`["{{x}}",{"q":"{{y}}"}]`, "\x00\\\"", `null`)
	f.Add(`"{{x}}{{y}}"`, "\u2028", `[1e400]`)
	f.Fuzz(func(t *testing.T, template, x, y string) {
		node, _, err := parseTemplate(json.RawMessage(template), map[string]bool{"x": true, "y": true})
		if err != nil {
			return
		}
		if jsonscan.Valid([]byte(y)) != nil {
			y = "1"
		}
		args := arguments{"x": canonjson.AppendString(nil, strings.ToValidUTF8(x, "?")), "y": json.RawMessage(strings.Trim(y, " \t\r\n"))}
		got, ok := node.expand(args)
		if !ok {
			return
		}
		if err := jsonscan.Valid(got); err != nil && jsonscan.Nesting(got) <= jsonscan.MaxDepth {
			t.Fatalf("%s with %s and %s: %s is no JSON: %v", template, args["x"], args["y"], got, err)
		}
		// The same shape comes of harmless values.
		args = arguments{"x": json.RawMessage(`"-"`), "y": args["y"]}
		plain, _ := node.expand(args)
		assert.Equal(t, members(got), members(plain), "%s %s", template, x)
	})
}

// members counts the members and elements of a value.
func members(raw []byte) int {
	n := 0
	for _, value := range jsonscan.Fields(raw) {
		n += 1 + members(value)
	}
	for value := range jsonscan.Elements(raw) {
		n += 1 + members(value)
	}
	return n
}
