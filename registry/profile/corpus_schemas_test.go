// Schemas of the tests of the corpus: those that servers have, and others by chance.

package profile_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// oddSchemas are schemas that servers have, or might, and that a registry lets pass.
func oddSchemas() map[string]string {
	odd := map[string]string{
		"nothing":        `{}`,
		"only a type":    `{"type":"object"}`,
		"no properties":  `{"type":"object","properties":{}}`,
		"closed":         `{"type":"object","additionalProperties":false}`,
		"open":           `{"type":"object","additionalProperties":true}`,
		"map":            `{"type":"object","additionalProperties":{"type":"integer"}}`,
		"map and more":   `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":{"type":"number","minimum":0}}`,
		"free member":    `{"type":"object","properties":{"any":{}}}`,
		"true and false": `{"type":"object","properties":{"yes":true,"no":false}}`,
		"described":      `{"type":"object","title":"T","description":"D","properties":{"a":{"title":"t","description":"d","type":"string","examples":["x"],"default":"y"}}}`,
		"dialect":        `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://example.com/s","$comment":"c","type":"object","properties":{"a":{"type":"string"}}}`,
		"extensions":     `{"type":"object","x-order":1,"properties":{"a":{"type":"string","x-ui":{"w":1},"readOnly":true,"deprecated":true}}}`,
		"nullable":       `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["null","integer"]},"c":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}}`,
		"many types":     `{"type":"object","properties":{"a":{"type":["string","integer","boolean"]},"b":{"type":["array","object","null"],"items":{"type":"string"},"properties":{"k":{"type":"string"}}}}}`,
		"openapi 3.0":    `{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"type":"string","nullable":false}}}`,
		"null only":      `{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]}`,
		"constants":      `{"type":"object","properties":{"a":{"const":"x"},"b":{"const":1},"c":{"const":null},"d":{"const":{"k":[1]}},"e":{"const":true,"type":"boolean"}},"required":["a"]}`,
		"numbers":        `{"type":"object","properties":{"a":{"type":"integer","enum":[1,2,3]},"b":{"enum":[1.5,-2,1e2]},"c":{"type":"number","enum":[12345678901234567890]}}}`,
		"mixed enum":     `{"type":"object","properties":{"a":{"enum":["x",1,true,null]},"b":{"enum":[{"k":1},[1]]},"c":{"type":["string","null"],"enum":["x",null]}}}`,
		"empty text":     `{"type":"object","properties":{"a":{"type":"string","enum":["","asc","desc"]},"b":{"type":"string","enum":[""]}}}`,
		"enum of types":  `{"type":"object","properties":{"a":{"type":"string","enum":["x",1]}}}`,
		"bounds":         `{"type":"object","properties":{"a":{"type":"integer","minimum":1,"maximum":9007199254740993},"b":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1.5},"c":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10},"d":{"type":"number","multipleOf":0.01},"e":{"type":"number","maximum":1e308}}}`,
		"lengths":        `{"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":5},"b":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":3,"uniqueItems":true}},"minProperties":1,"maxProperties":2}`,
		"patterns":       `{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]+$"},"b":{"type":"string","pattern":"^\\p{L}+$"},"c":{"type":"string","pattern":"[\\w-.]"}}}`,
		"formats":        `{"type":"object","properties":{"a":{"type":"string","format":"uri"},"b":{"type":"string","format":"date-time"},"c":{"type":"integer","format":"int64"},"d":{"type":"string","format":"binary"},"e":{"type":"string","format":"uuid"}}}`,
		"no items":       `{"type":"object","properties":{"a":{"type":"array"},"b":{"type":["array","null"]},"c":{"type":"array","items":true},"d":{"type":"array","items":{}}}}`,
		"tuple":          `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"number"},{"type":"number"}],"minItems":2,"maxItems":2},"b":{"type":"array","prefixItems":[{"type":"string"}],"items":false},"c":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}}}`,
		"old tuple":      `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}}}`,
		"contains":       `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"},"contains":{"const":1},"minContains":1,"maxContains":2}}}`,
		"refs":           `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/a","description":"another"}},"$defs":{"a":{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"required":["x"]},"x":{"type":"string","format":"date"}}}`,
		"definitions":    `{"type":"object","properties":{"a":{"$ref":"#/definitions/A B"},"b":{"type":"array","items":{"$ref":"#/definitions/c~1d"}}},"definitions":{"A B":{"type":"string"},"c/d":{"type":"integer"}}}`,
		"ref to a place": `{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"}}},"b":{"$ref":"#/properties/a"},"c":{"$ref":"#/properties/a/properties/x"}}}`,
		"anchors":        `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"$ref":"#it"}},"$defs":{"it":{"$anchor":"it","type":"string"}}}`,
		"root ref":       `{"$ref":"#/$defs/args","$defs":{"args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
		"typed root ref": `{"type":"object","$ref":"#/$defs/args","$defs":{"args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
		"recursive":      `{"type":"object","properties":{"tree":{"$ref":"#/$defs/node"}},"required":["tree"],"$defs":{"node":{"type":"object","properties":{"value":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["value"]}}}`,
		"self":           `{"type":"object","properties":{"name":{"type":"string"},"next":{"$ref":"#"}}}`,
		"mutual":         `{"type":"object","properties":{"e":{"$ref":"#/$defs/expr"}},"$defs":{"expr":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/op"}]},"op":{"type":"object","properties":{"left":{"$ref":"#/$defs/expr"},"right":{"$ref":"#/$defs/expr"}},"required":["left","right"],"additionalProperties":false}}}`,
		"required loop":  `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"],"$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"]}}}`,
		"json value":     `{"type":"object","properties":{"v":{"$ref":"#/$defs/json"}},"$defs":{"json":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/json"}},{"type":"object","additionalProperties":{"$ref":"#/$defs/json"}}]}}}`,
		"root anyOf":     `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		"root oneOf":     `{"oneOf":[{"type":"object","properties":{"kind":{"const":"x"},"x":{"type":"string"}},"required":["kind","x"]},{"type":"object","properties":{"kind":{"const":"y"},"y":{"type":"integer"}},"required":["kind","y"],"additionalProperties":false}]}`,
		"root allOf":     `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"integer"}}}]}`,
		"root typed":     `{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{"type":"integer"}}}]}`,
		"root not":       `{"type":"object","properties":{"a":{"type":"string"}},"not":{"required":["a","b"]}}`,
		"root if":        `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"if":{"properties":{"a":{"const":"x"}},"required":["a"]},"then":{"required":["b"]},"else":{"properties":{"b":false}}}`,
		"root enum":      `{"type":"object","enum":[{"a":1},{"a":2}],"properties":{"a":{"type":"integer"}}}`,
		"nested oneOf":   `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"object","properties":{"k":{"type":"string"}},"required":["k"]}],"description":"either"}}}`,
		"nested allOf":   `{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/$defs/x"},{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]}]},"c":{"allOf":[{"$ref":"#/$defs/s"}],"description":"d","default":"q"}},"$defs":{"x":{"type":"object","properties":{"a":{"type":"string"}}},"s":{"type":"string","enum":["p","q"]}}}`,
		"allOf clash":    `{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"type":"integer"}]},"b":{"allOf":[{"minimum":1},{"minimum":3,"type":"number"}]},"c":{"allOf":[{"enum":["a","b"]},{"enum":["b","c"]}]}}}`,
		"closed allOf":   `{"type":"object","properties":{"a":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":false},{"type":"object","properties":{"y":{"type":"string"}}}]}}}`,
		"typed anyOf":    `{"type":"object","properties":{"a":{"type":"string","anyOf":[{"minLength":2},{"pattern":"^x"}]},"b":{"type":"object","properties":{"k":{"type":"string"},"l":{"type":"string"}},"anyOf":[{"required":["k"]},{"required":["l"]}]}}}`,
		"nested unions":  `{"type":"object","properties":{"a":{"anyOf":[{"anyOf":[{"type":"string"},{"type":"null"}]},{"oneOf":[{"type":"integer"},{"allOf":[{"type":"boolean"}]}]}]}}}`,
		"negation":       `{"type":"object","properties":{"a":{"type":"string","not":{"enum":["x"]}},"b":{"not":{"type":"null"}}}}`,
		"dependent":      `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentRequired":{"a":["b"]},"dependentSchemas":{"b":{"required":["a"]}}}`,
		"dependencies":   `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependencies":{"a":["b"],"b":{"required":["a"]}}}`,
		"pattern names":  `{"type":"object","patternProperties":{"^x-":{"type":"string"},"^\\d+$":{"type":"integer"}},"additionalProperties":false}`,
		"property names": `{"type":"object","properties":{"m":{"type":"object","propertyNames":{"pattern":"^[a-z]+$"},"additionalProperties":{"type":"string"}}}}`,
		"unevaluated":    `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}}],"properties":{"b":{"type":"string"}},"unevaluatedProperties":false}`,
		"not required":   `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`,
		"only required":  `{"type":"object","required":["a"]}`,
		"wrong type":     `{"type":"object","properties":{"a":{"type":"string","properties":{"x":{"type":"string"}},"items":{"type":"string"},"required":["x"],"minimum":3}}}`,
		"no type":        `{"type":"object","properties":{"a":{"description":"anything"},"b":{"properties":{"x":{"type":"string"}}},"c":{"items":{"type":"string"}},"d":{"minimum":1},"e":{"enum":["x"]}}}`,
		"odd names":      `{"type":"object","properties":{"a b":{"type":"string"},"$filter":{"type":"string"},"issue_types[]":{"type":"array","items":{"type":"string"}},"":{"type":"string"},"é":{"type":"string"},"a/b":{"type":"string"},"a~b":{"type":"string"},"a_b":{"type":"string"},"__proto__":{"type":"string"},"@type":{"type":"string"}},"required":["a b","","a/b"]}`,
		"twins":          `{"type":"object","properties":{"a b":{"type":"string"},"a_b":{"type":"integer"},"a-b":{"type":"boolean"},"a+b":{"type":"number"}},"required":["a b"]}`,
		"nested names":   `{"type":"object","properties":{"o":{"type":"object","properties":{"a b":{"type":"string"},"key":{"type":"string"},"value":{"type":"string"}},"required":["a b"]}}}`,
		"keywords":       `{"type":"object","properties":{"type":{"type":"string"},"properties":{"type":"object","properties":{"$ref":{"type":"string"}}},"required":{"type":"boolean"},"enum":{"type":"array","items":{"type":"string"}},"items":{"type":"string"},"$ref":{"type":"string"},"$defs":{"type":"string"},"anyOf":{"type":"string"},"default":{"type":"string"}},"required":["type","$ref"]}`,
		"capitals":       `{"type":"object","properties":{"a":{"type":"string","Description":5,"ENUM":1,"Type":"x"}},"Properties":3}`,
		"map of maps":    `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}}},"required":["m"]}`,
		"map of any":     `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{}},"n":{"type":"object","additionalProperties":true},"o":{"type":"object"}}}`,
		"lists of lists": `{"type":"object","properties":{"m":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":["number","null"]}}}}}}`,
		"null default":   `{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":["string","null"]}},"required":["x"]},"b":{"type":["string","null"],"default":"z"}}}`,
		"pairs":          `{"type":"object","properties":{"p":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"string"}},"required":["key","value"],"additionalProperties":false}}}}`,
		"text in names":  `{"type":"object","properties":{"\u202eevil":{"type":"string"},"a\nb":{"type":"string"},"\ud83d\ude00":{"type":"string"}}}`,
		"content":        `{"type":"object","properties":{"a":{"type":"string","contentEncoding":"base64","contentMediaType":"image/png"}}}`,
		"no values":      `{"type":"object","properties":{"a":{"type":"string","enum":[]},"b":{"type":"array","items":{"enum":[]}}}}`,
		"impossible":     `{"type":"object","properties":{"b":{"anyOf":[]}}}`,
	}
	maps.Copy(odd, oddSpellings())
	odd["wide"] = wideSchema(200)
	odd["very wide"] = wideSchema(assert.Cases(100, 1500))
	odd["deep"] = deepSchema(25)
	odd["deep lists"] = `{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 50) + `{"type":"string"}` + strings.Repeat(`}`, 50) + `}}`
	odd["long enum"] = enumSchema(1200)
	odd["expanding"] = expandingSchema(12)
	odd["long text"] = fmt.Sprintf(`{"type":"object","description":%q,"properties":{"a":{"type":"string","description":%q}}}`, strings.Repeat("root ", 500), strings.Repeat("text ", 2000))
	return odd
}

// oddSpellings are schemas that say something usual in an unusual way.
func oddSpellings() map[string]string {
	return map[string]string{
		"empty text or null":  `{"type":"object","properties":{"link":{"anyOf":[{"type":"string","enum":["","x"]},{"type":"null"}]},"only":{"anyOf":[{"type":"string","enum":[""]},{"type":"null"}]},"one":{"type":["string","null"],"enum":["a",null]}}}`,
		"positive or null":    `{"type":"object","properties":{"max":{"anyOf":[{"type":"integer","exclusiveMinimum":0,"maximum":9007199254740991},{"type":"null"}],"default":null}}}`,
		"list of tuples":      `{"type":"object","properties":{"query":{"type":"object","properties":{"where":{"type":"array","maxItems":10,"items":{"prefixItems":[{"type":"string"},{"type":"string","enum":["eq","ne","=="]},{}]}}}}}}`,
		"list of old tuples":  `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"waypoints":{"type":"array","items":{"type":"array","items":[{"type":"number"},{"type":"number"}]}}}}`,
		"escapes of patterns": `{"type":"object","properties":{"field":{"type":"string","pattern":"^(?!__.*__$)[^\\p{Cc}\\p{Zl}\"/]{1,200}$"},"files":{"type":"array","items":{"type":"string","pattern":".*\\S.*"}}}}`,
		"required in items":   `{"type":"object","properties":{"fields":{"type":"array","items":{"type":"object","required":["type"]}},"more":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}}}}`,
		"formats in items":    `{"type":"object","properties":{"links":{"type":"array","items":{"type":"object","properties":{"url":{"type":"string","format":"uri"},"n":{"type":"integer","format":"uint32"},"mail":{"type":"string","format":"email"}}}}}}`,
		"ref to a property":   `{"type":"object","properties":{"urls":{"type":"array","items":{"type":"string"}},"headers":{"type":"object"},"actions":{"type":"array","items":{"$ref":"#/properties/headers"}}},"required":["urls"]}`,
		"members of a text":   `{"type":"object","properties":{"data":{"type":"string","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
		"named as keywords":   `{"type":"object","properties":{"properties":{"type":"object","description":"d"},"title":{"type":"string"},"items":{"type":"array","items":{"type":"string"}}},"required":["title","properties"]}`,
		"named as a dialect":  `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"$schema":{"type":"string"},"$top":{"type":"integer"}},"required":["$top"]}`,
		"filters of filters":  `{"type":"object","properties":{"f":{"$ref":"#/$defs/f"}},"$defs":{"f":{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/f"}},"or":{"type":"array","items":{"$ref":"#/$defs/f"}},"not":{"$ref":"#/$defs/g"}}},"g":{"type":"object","properties":{"f":{"$ref":"#/$defs/f"},"g":{"$ref":"#/$defs/g"},"h":{"$ref":"#/$defs/h"}}},"h":{"type":"object","properties":{"f":{"$ref":"#/$defs/f"},"g":{"$ref":"#/$defs/g"}}}}}`,
		"escaped keywords":    `{"ty\u0070e":"object","\u0070roperties":{"\u0061":{"type":"stri\u006eg","\u0065num":["\u0078","y"]}},"required":["\u0061"]}`,
		"whole numbers":       `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"minItems":1.0,"maxItems":1e1},"b":{"type":"string","minLength":2.0,"maxLength":1e3},"c":{"type":"integer","enum":[1.0,2e0]},"d":{"type":"integer","minimum":0.0,"exclusiveMaximum":1e1}}}`,
		"huge numbers":        `{"type":"object","properties":{"a":{"type":"number","minimum":-1e400,"maximum":1e400},"b":{"type":"number","enum":[1e400,1]},"c":{"type":"integer","maximum":123456789012345678901234567890},"d":{"type":"number","multipleOf":1e-400},"e":{"type":"array","items":{"enum":[1e400]},"maxItems":99999999999999999999}}}`,
		"rest name":           `{"type":"object","properties":{"additional_properties":{"type":"string"},"additional_properties_":{"type":"string"}},"additionalProperties":{"type":"integer"}}`,
		"encoded refs":        `{"type":"object","properties":{"a":{"$ref":"#/$defs/a%20b"},"b":{"$ref":"#/$defs/c~1d"},"c":{"$ref":"#/$defs/%25"}},"$defs":{"a b":{"type":"string"},"c/d":{"type":"integer"},"%":{"type":"boolean"}}}`,
		"nested defs":         `{"type":"object","properties":{"a":{"type":"object","$defs":{"x":{"type":"string","enum":["p"]}},"properties":{"k":{"$ref":"#/properties/a/$defs/x"}},"required":["k"]},"b":{"$ref":"#/properties/a/properties/k"}}}`,
		"ref chain":           `{"type":"object","properties":{"a":{"$ref":"#/$defs/one","description":"outer"}},"$defs":{"one":{"$ref":"#/$defs/two","title":"one"},"two":{"$ref":"#/$defs/three","description":"two"},"three":{"type":"string","description":"three","minLength":1}}}`,
		"ref and limits":      `{"type":"object","properties":{"a":{"$ref":"#/$defs/n","minimum":5},"b":{"$ref":"#/$defs/o","required":["y"],"properties":{"y":{"type":"string"}}}},"$defs":{"n":{"type":"integer","minimum":1,"maximum":9},"o":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}}`,
		"nullable ref":        `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]},"c":{"anyOf":[{"$ref":"#/$defs/s"},{"type":"null"}],"default":null}},"$defs":{"n":{"type":["string","null"]},"s":{"type":"string"}}}`,
		"embedded resource":   `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/root","type":"object","properties":{"a":{"$ref":"https://example.com/part"}},"$defs":{"p":{"$id":"https://example.com/part","type":"object","properties":{"x":{"$ref":"#/$defs/y"}},"$defs":{"y":{"type":"integer"}}}}}`,
		"names of members":    `{"type":"object","properties":{"constructor":{"type":"string"},"0":{"type":"string"},"10":{"type":"string"},"9":{"type":"string"},"null":{"type":"null"},"true":{"const":true}},"required":["null","0"]}`,
		"text of null":        `{"type":"object","properties":{"a":{"type":"string","enum":["null","true","1"]},"b":{"enum":[null,"null"]},"c":{"const":null}},"required":["c"]}`,
		"maps of names":       `{"type":"object","properties":{"m":{"type":"object","propertyNames":{"enum":["a","b"]},"additionalProperties":{"type":"boolean"}},"n":{"type":"object","patternProperties":{"^a":{"type":"string"},"^b":{"type":"integer"}},"additionalProperties":false},"o":{"type":"object","properties":{"k":{"type":"string"}},"patternProperties":{"^x":{"type":"integer"}}}}}`,
		"lists of maps":       `{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","additionalProperties":{"anyOf":[{"type":"string"},{"type":"object","additionalProperties":true}]}}}}}`,
		"unions of objects":   `{"type":"object","properties":{"u":{"anyOf":[{"type":"object","properties":{"kind":{"const":"a"},"m":{"type":"object","additionalProperties":{"type":"string"}}},"required":["kind"]},{"type":"object","properties":{"kind":{"const":"b"},"o":{"type":"string"}},"required":["kind"]},{"type":"array","items":{"type":"string"}}]}},"required":["u"]}`,
		"filter":              `{"type":"object","properties":{"filter":{"$ref":"#/$defs/filter"}},"required":["filter"],"$defs":{"filter":{"oneOf":[{"$ref":"#/$defs/leaf"},{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/filter"},"minItems":1}},"required":["and"],"additionalProperties":false}]},"leaf":{"type":"object","properties":{"field":{"type":"string"},"value":{}},"required":["field","value"],"additionalProperties":false}}}`,
	}
}

func wideSchema(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"p%d":{"type":"string","description":"property %d"}`, i, i)
	}
	return `{"type":"object","properties":{` + b.String()[1:] + `}}`
}

func deepSchema(n int) string {
	s := `{"type":"string","format":"date"}`
	for range n {
		s = `{"type":"object","properties":{"a":` + s + `},"required":["a"]}`
	}
	return s
}

func enumSchema(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"value-%d"`, i)
	}
	return `{"type":"object","properties":{"a":{"type":"string","enum":[` + b.String()[1:] + `]}}}`
}

// expandingSchema doubles with each reference that is written out.
func expandingSchema(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	return fmt.Sprintf(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{%s"d%d":{"type":"string"}}}`, b.String(), n)
}

// A maker writes schemas by chance.
type maker struct {
	r      *rand.Rand
	defs   int    // definitions that may be referred to
	suffix string // of names of properties
}

// object writes the schema of a tool's arguments.
func (m *maker) object(depth int) string {
	m.defs = m.r.IntN(4)
	var parts []string
	if m.r.IntN(8) > 0 {
		parts = append(parts, `"type":"object"`)
	}
	parts = append(parts, m.members(depth)...)
	if m.r.IntN(6) == 0 {
		closed := func(part string) bool { return strings.HasPrefix(part, `"additionalProperties"`) }
		parts = slices.DeleteFunc(parts, closed) // else they forbid each other's properties
		kind := m.pick("anyOf", "oneOf", "allOf")
		var branches []string
		for i := range 1 + m.r.IntN(3) {
			m.suffix = "_" // alternatives may share names among each other
			if kind == "allOf" {
				m.suffix = fmt.Sprint(i)
			}
			branches = append(branches, "{"+strings.Join(slices.DeleteFunc(m.members(depth), closed), ",")+"}")
		}
		m.suffix = ""
		parts = append(parts, fmt.Sprintf(`%q:[%s]`, kind, strings.Join(branches, ",")))
	}
	if m.defs > 0 {
		var defs []string
		for i := range m.defs {
			defs = append(defs, fmt.Sprintf(`"d%d":%s`, i, m.schema(depth-1)))
		}
		parts = append(parts, fmt.Sprintf(`%q:{%s}`, m.pick("$defs", "$defs", "definitions"), strings.Join(defs, ",")))
	}
	s := "{" + strings.Join(parts, ",") + "}"
	if strings.Contains(s, `"definitions"`) {
		return strings.ReplaceAll(s, "#/$defs/", "#/definitions/")
	}
	return s
}

func (m *maker) pick(list ...string) string { return list[m.r.IntN(len(list))] }

// members writes what describes an object.
func (m *maker) members(depth int) []string {
	names := []string{"id", "name", "a b", "x-y", "$top", "é", "key", "value", "type", "items", "ids[]", "a_b", "when"}
	m.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:m.r.IntN(4)]
	var parts, properties, required []string
	suffix := m.suffix
	m.suffix = ""
	for _, name := range names {
		name += suffix
		properties = append(properties, quoteJSON(name)+":"+m.schema(depth-1))
		if m.r.IntN(2) == 0 {
			required = append(required, quoteJSON(name))
		}
	}
	if len(properties) > 0 || m.r.IntN(2) == 0 {
		parts = append(parts, `"properties":{`+strings.Join(properties, ",")+`}`)
	}
	if len(required) > 0 {
		parts = append(parts, `"required":[`+strings.Join(required, ",")+`]`)
	}
	switch m.r.IntN(8) {
	case 0, 1:
		parts = append(parts, `"additionalProperties":false`)
	case 2:
		parts = append(parts, `"additionalProperties":`+m.schema(depth-1))
	case 3:
		parts = append(parts, m.pick(`"minProperties":1`, `"maxProperties":3`, `"propertyNames":{"maxLength":9}`,
			`"patternProperties":{"^x":{"type":"integer"}}`, `"dependentRequired":{"id":["name"]}`, `"additionalProperties":true`))
	}
	return parts
}

func quoteJSON(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

func (m *maker) union(depth int) string {
	if m.r.IntN(4) == 0 { // schemas by chance would forbid each other's values
		return fmt.Sprintf(`"allOf":[%s,%s]`, m.schema(depth), m.pick(`{"description":"d"}`, `{"minLength":1}`, `{"minimum":1}`, `{"maxItems":3}`, `{"minProperties":1}`, `{"title":"t"}`))
	}
	var branches []string
	for range 1 + m.r.IntN(3) {
		branches = append(branches, m.schema(depth))
	}
	return fmt.Sprintf(`%q:[%s]`, m.pick("anyOf", "anyOf", "oneOf"), strings.Join(branches, ","))
}

// schema writes a schema.
func (m *maker) schema(depth int) string {
	var parts []string
	switch kind := m.r.IntN(20); {
	case kind == 0:
		return m.pick(`{}`, `true`, `{"description":"free"}`)
	case kind == 1 && m.defs > 0:
		parts = append(parts, fmt.Sprintf(`"$ref":"#/$defs/d%d"`, m.r.IntN(m.defs)))
	case kind < 6:
		parts = append(parts, m.pick(`"type":"string"`, `"type":["string","null"]`), m.pick(
			`"minLength":1`, `"maxLength":4`, `"pattern":"^[a-z]*$"`, `"format":"date"`, `"format":"uri"`, `"enum":["a","b"]`, `"const":"a"`, `"enum":["","z",null]`, `"default":"d"`))
	case kind < 9:
		parts = append(parts, m.pick(`"type":"integer"`, `"type":"number"`, `"type":["integer","null"]`, `"type":["integer","string"]`), m.pick(
			`"minimum":0`, `"exclusiveMinimum":0`, `"maximum":100`, `"exclusiveMaximum":10`, `"multipleOf":2`, `"enum":[1,2,3]`, `"const":4`, `"format":"int32"`))
	case kind == 9:
		parts = append(parts, m.pick(`"type":"boolean"`, `"type":"null"`, `"enum":[true,1,"x"]`, `"enum":[null]`, `"type":["boolean","null"]`))
	case depth <= 0:
		parts = append(parts, `"type":"string"`)
	case kind < 13:
		parts = append(append(parts, m.pick(`"type":"object"`, `"type":"object"`, `"type":["object","null"]`)), m.members(depth)...)
	case kind < 16:
		parts = append(parts, m.pick(`"type":"array"`, `"type":"array"`, `"type":["array","null"]`))
		if m.r.IntN(4) > 0 {
			parts = append(parts, `"items":`+m.schema(depth-1))
		}
		if m.r.IntN(4) == 0 {
			parts = append(parts, `"prefixItems":[`+m.schema(depth-1)+`,`+m.schema(depth-1)+`]`)
		}
		if m.r.IntN(3) == 0 {
			parts = append(parts, m.pick(`"minItems":1`, `"maxItems":2`, `"uniqueItems":true`, `"contains":{"type":"string"}`))
		}
	default:
		parts = append(parts, m.union(depth-1))
		if m.r.IntN(4) == 0 {
			parts = append(parts, m.pick(`"not":{"const":"a"}`, `"if":{"type":"string"},"then":{"minLength":1}`))
		}
	}
	if m.r.IntN(6) == 0 {
		parts = append(parts, m.pick(`"description":"what it is"`, `"title":"T"`, `"examples":["e"]`, `"$comment":"c"`, `"x-note":1`, `"deprecated":true`))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// madeSchemas returns n schemas by chance, the same each time.
func madeSchemas(n, depth int) []string {
	m := &maker{r: rand.New(rand.NewPCG(1, uint64(depth)))}
	list := make([]string, n)
	for i := range list {
		list[i] = m.object(depth)
	}
	return list
}
