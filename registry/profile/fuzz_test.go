// Tests of compile.go and unmap.go with schemas and arguments by chance.

package profile_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func FuzzCompile(f *testing.F) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x",null]},"b":{"items":[{},true],"additionalItems":{"$ref":"#/definitions/c"}}},"definitions":{"c":{"$id":"#c","dependencies":{"a":["b"],"c":{"not":{}}}}}}`,
		`{"$id":"https://a.example/","$anchor":"r","type":"object","properties":{"a":{"$ref":"#r"},"b":{"$id":"b","$defs":{"x":{"$anchor":"r","type":"string"}},"$ref":"#r"}}}`,
		`{"type":"object","patternProperties":{"^x":{"const":1e400}},"additionalProperties":false,"unevaluatedProperties":true,"if":{"required":["a"]},"then":{"properties":{"a":true}}}`,
		`{"type":"object","properties":{"":{"type":"string"},"a/b~":{"enum":[{"a":[1]},"\ud800",1.0]}},"required":["zz"]}`,
	} {
		f.Add([]byte(schema), []byte(`{"a":[{"key":"a","value":"{}"}],"additional_properties":[{"key":"","value":null}]}`))
	}
	for seed := range uint64(30) {
		m := &maker{r: rand.New(rand.NewPCG(seed, 3))}
		f.Add([]byte(m.object(3)), []byte(`{"a":null,"b":{"a":null},"key":"1"}`))
	}
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		if len(schema) > 4_000 || schemagate.Check(schema) != nil {
			return
		}
		own, _ := schemagate.Compile(schema)
		for _, p := range providers {
			set := assert.Value(profile.Compile(p, []registry.Tool{tool("t", string(schema))}, nil))(t)
			for _, c := range set.Tools() {
				assert.OK(t, jsonscan.Valid(c.Declaration()), "%s", p)
				theirs, err := schemagate.Compile(c.Schema)
				var refused *schemagate.SchemaError
				if errors.As(err, &refused) && refused.Token != schemagate.TooManyNodes && own != nil {
					t.Fatalf("%s: %v: %s", p, err, c.Schema)
				}
				back, err := c.Unmap(json.RawMessage(args))
				if err != nil {
					continue
				}
				if len(args) > 0 && json.Valid(args) && !json.Valid(back) {
					t.Fatalf("%s: %s became %s by %s", p, args, back, c.Schema)
				}
				if theirs != nil && own != nil && !hasEffect(c, profile.Looser) && len(args) > 0 && args[0] == '{' && theirs.Validate(args) == nil && own.Validate(back) != nil {
					t.Fatalf("%s: %s became %s, which does not fit %s", p, args, back, schema)
				}
			}
		}
	})
}
