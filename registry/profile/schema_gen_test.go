package profile_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// A schemaMaker writes schemas at random, with all that servers write and more.
type schemaMaker struct {
	*rand.Rand
	defs int
}

// root writes the schema of a tool's arguments.
func (m *schemaMaker) root() string {
	m.defs = m.IntN(3)
	parts := []string{`"type":"object"`}
	if m.IntN(8) == 0 {
		parts = nil
	}
	parts = append(parts, m.object(3)...)
	if m.IntN(6) == 0 {
		parts = append(parts, m.union(2, true))
	}
	if m.defs > 0 {
		var defs []string
		for i := range m.defs {
			defs = append(defs, fmt.Sprintf(`"d%d":%s`, i, m.schema(2)))
		}
		parts = append(parts, `"$defs":{`+strings.Join(defs, ",")+`}`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (m *schemaMaker) pick(texts ...string) string { return texts[m.IntN(len(texts))] }

func (m *schemaMaker) object(depth int) []string {
	var parts, props, required []string
	for _, name := range []string{"a", "b", "c c", "key"}[:m.IntN(5)] {
		props = append(props, fmt.Sprintf("%q:%s", name, m.schema(depth-1)))
		if m.IntN(2) == 0 {
			required = append(required, fmt.Sprintf("%q", name))
		}
	}
	if m.IntN(12) == 0 {
		required = append(required, `"other"`)
	}
	if len(props) > 0 || m.IntN(3) == 0 {
		parts = append(parts, `"properties":{`+strings.Join(props, ",")+`}`)
	}
	if len(required) > 0 {
		parts = append(parts, `"required":[`+strings.Join(required, ",")+`]`)
	}
	switch m.IntN(8) {
	case 0, 1:
		parts = append(parts, `"additionalProperties":false`)
	case 2:
		parts = append(parts, `"additionalProperties":`+m.schema(depth-1))
	case 3:
		parts = append(parts, `"additionalProperties":true`)
	case 4:
		if m.IntN(3) == 0 {
			parts = append(parts, `"patternProperties":{"^x":`+m.schema(depth-1)+`}`)
		}
	case 5:
		if m.IntN(4) == 0 {
			parts = append(parts, m.pick(`"minProperties":1`, `"dependentRequired":{"a":["b"]}`, `"propertyNames":{"maxLength":3}`, `"unevaluatedProperties":false`))
		}
	}
	return parts
}

func (m *schemaMaker) union(depth int, objects bool) string {
	var all []string
	for range 1 + m.IntN(3) {
		if objects {
			all = append(all, `{`+strings.Join(append(m.object(depth-1), `"title":"t"`), ",")+`}`)
		} else {
			all = append(all, m.schema(depth-1))
		}
	}
	return `"` + m.pick("anyOf", "anyOf", "oneOf", "allOf") + `":[` + strings.Join(all, ",") + `]`
}

func (m *schemaMaker) schema(depth int) string {
	note := m.pick("", "", `,"description":"about it"`, `,"title":"T"`, `,"default":null`, `,"x-note":1`)
	if depth <= 0 {
		return m.scalar(note)
	}
	switch m.IntN(12) {
	case 0, 1, 2:
		return "{" + strings.Join(append([]string{`"type":` + m.pick(`"object"`, `"object"`, `["object","null"]`)}, m.object(depth)...), ",") + note + "}"
	case 3, 4:
		items := m.pick(`,"items":`+m.schema(depth-1), `,"items":`+m.schema(depth-1), ``, `,"prefixItems":[`+m.schema(depth-1)+`,`+m.schema(depth-1)+`]`,
			`,"prefixItems":[`+m.schema(depth-1)+`],"items":false`, `,"prefixItems":[`+m.schema(depth-1)+`],"items":`+m.schema(depth-1))
		return `{"type":"array"` + items + m.pick("", "", `,"minItems":1`, `,"maxItems":2`, `,"uniqueItems":true`) + note + "}"
	case 5, 6:
		return "{" + m.union(depth, m.IntN(2) == 0) + note + "}"
	case 7:
		if m.defs > 0 {
			return fmt.Sprintf(`{"$ref":"#/$defs/d%d"%s}`, m.IntN(m.defs), note)
		}
	case 8:
		return m.pick("true", "{}", `{"description":"any"}`, `{"not":{"type":"string"}}`, "false", `{"enum":[]}`)
	}
	return m.scalar(note)
}

func (m *schemaMaker) scalar(note string) string {
	return "{" + m.pick(
		`"type":"string"`, `"type":"string"`, `"type":["string","null"]`, `"type":"string","enum":["x","y",""]`, `"const":"k"`, `"const":7`,
		`"type":"integer","exclusiveMinimum":1`, `"type":"number","maximum":5.5`, `"type":["integer","null"],"minimum":1`, `"type":"boolean"`,
		`"enum":[1,"1",null,true,{"a":1}]`, `"type":["string","number","object"]`, `"type":"null"`, `"minLength":2`, `"type":"string","pattern":"^x"`,
		`"type":"string","format":"uri"`, `"type":["boolean","string"]`, `"enum":["p","q"]`, `"type":"string","maxLength":3`,
	) + note + "}"
}

// A valueMaker writes values that a schema, decoded from JSON, may take.
type valueMaker struct {
	*rand.Rand
	root any
}

func (m *valueMaker) value(schema any, depth int) any {
	s, ok := schema.(map[string]any)
	if !ok || depth <= 0 {
		return m.any(depth)
	}
	if ref, ok := s["$ref"].(string); ok {
		target := m.root
		for _, token := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			target = target.(map[string]any)[token]
		}
		return m.value(target, depth-1)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if all, ok := s[keyword].([]any); ok && m.IntN(3) > 0 {
			v := m.value(all[m.IntN(len(all))], depth-1)
			object, isObject := v.(map[string]any)
			rest := map[string]any{}
			for k, v := range s {
				if k != keyword {
					rest[k] = v
				}
			}
			if more, ok := m.value(rest, depth-1).(map[string]any); ok && isObject {
				for k, v := range more {
					object[k] = v
				}
			}
			return v
		}
	}
	if constant, ok := s["const"]; ok {
		return constant
	}
	if all, ok := s["enum"].([]any); ok && len(all) > 0 {
		return all[m.IntN(len(all))]
	}
	var types []any
	switch t := s["type"].(type) {
	case string:
		types = []any{t}
	case []any:
		types = t
	}
	if types == nil {
		switch {
		case s["properties"] != nil || s["required"] != nil || s["additionalProperties"] != nil:
			types = []any{"object"}
		default:
			return m.any(depth)
		}
	}
	switch types[m.IntN(len(types))] {
	case "string":
		return []any{"x", "xy", "", "k", "null", "7", `{"a":1}`, "[]", "xyz", "true"}[m.IntN(10)]
	case "integer":
		return json.Number(fmt.Sprint(m.IntN(5)))
	case "number":
		return json.Number(fmt.Sprint(m.IntN(9)) + ".50")
	case "boolean":
		return m.IntN(2) == 0
	case "null":
		return nil
	case "array":
		return m.array(s, depth)
	}
	return m.object(s, depth)
}

func (m *valueMaker) array(s map[string]any, depth int) any {
	list := []any{}
	prefix, _ := s["prefixItems"].([]any)
	for i := range m.IntN(3) {
		if i < len(prefix) {
			list = append(list, m.value(prefix[i], depth-1))
		} else {
			list = append(list, m.value(s["items"], depth-1))
		}
	}
	return list
}

func (m *valueMaker) object(s map[string]any, depth int) any {
	object := map[string]any{}
	needed := map[string]bool{}
	required, _ := s["required"].([]any)
	for _, name := range required {
		needed[name.(string)] = true
		object[name.(string)] = m.value(s["additionalProperties"], depth-1)
	}
	properties, _ := s["properties"].(map[string]any)
	for name, sub := range properties {
		if needed[name] || m.IntN(2) == 0 {
			object[name] = m.value(sub, depth-1)
		}
	}
	if s["additionalProperties"] != false && m.IntN(2) == 0 {
		object[[]string{"zz", "x1", "key"}[m.IntN(3)]] = m.value(s["additionalProperties"], depth-1)
	}
	return object
}

func (m *valueMaker) any(depth int) any {
	if depth <= 0 {
		return []any{"x", json.Number("1"), nil, true}[m.IntN(4)]
	}
	switch m.IntN(6) {
	case 0:
		return map[string]any{"a": m.any(depth - 1)}
	case 1:
		return []any{m.any(depth - 1)}
	case 2:
		return json.Number("12345678901234567890")
	}
	return []any{"x", json.Number("1"), nil, true, `"q"`}[m.IntN(5)]
}
