package develop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/schema"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A generator declares Go types for the schemas of the tools of one server.
type generator struct {
	types []string        // declarations of types, each before those of its fields
	names map[string]bool // names that are taken in the package

	// What follows is of one schema.
	root             any                // references lead into it
	input            bool               // values are sent
	title            string             // begins the names of what references lead to
	whole            string             // name of the type of the whole value, until it is declared
	about, aboutPart string             // what the whole value, and a part of it, is
	known            map[uintptr]goType // types of the objects of the schema, by address
	open             map[string]bool    // structs that are being declared
}

// A goType is the Go type of what a schema describes.
type goType struct {
	expr    string
	nilable bool // nil stands for a value that is not there
	null    bool // the schema allows null
}

// untyped returns the type of what types cannot say: what is sent can be any value.
func (g *generator) untyped() goType {
	if g.input {
		return goType{expr: "any", nilable: true}
	}
	return goType{expr: "json.RawMessage", nilable: true}
}

// orNil returns the type, or a pointer to it if its values cannot be nil.
func (t goType) orNil() goType {
	if !t.nilable {
		t.expr, t.nilable = "*"+t.expr, true
	}
	return t
}

// arguments returns the type of the arguments of a tool; empty if it takes none.
func (g *generator) arguments(method string, text json.RawMessage) string {
	root, _ := schema.Decode(text).(map[string]any)
	if takesNothing(root) {
		return ""
	}
	g.begin(method, "Input", "holds", "the arguments of", root)
	return strings.TrimPrefix(g.typeOf(g.whole, root).expr, "*")
}

// result returns the type of the result of a tool; empty if there is no schema.
func (g *generator) result(method string, text json.RawMessage) string {
	root := schema.Decode(text)
	if root == nil {
		return ""
	}
	g.begin(method, "Output", "is", "the result of", root)
	return g.typeOf(g.whole, root).expr
}

// begin begins with another schema.
func (g *generator) begin(method, suffix, verb, value string, root any) {
	value += " [Client." + method + "]."
	g.root, g.input, g.title, g.whole = root, suffix == "Input", method, method+suffix
	g.about, g.aboutPart = verb+" "+value, "is part of "+value
	g.known, g.open = map[uintptr]goType{}, map[string]bool{}
}

// takesNothing reports whether a schema describes an object of which nothing is said.
func takesNothing(of map[string]any) bool {
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "properties", "required"} {
		list, isList := of[key].([]any)
		object, isObject := of[key].(map[string]any)
		if len(list)+len(object) > 0 || of[key] != nil && !isList && !isObject {
			return false
		}
	}
	more := of["additionalProperties"]
	return more == nil || more == false
}

// typeOf returns the Go type of a schema, and declares it under a name if it needs one.
// Each object of the schema is looked at once, however many references lead to it.
func (g *generator) typeOf(name string, of any) goType {
	object, ok := of.(map[string]any)
	if !ok {
		return g.untyped()
	}
	id := reflect.ValueOf(object).Pointer()
	if t, ok := g.known[id]; ok {
		return t
	}
	g.known[id] = g.untyped() // if it leads to itself without a struct between
	t := g.find(name, object)
	g.known[id] = t
	return t
}

func (g *generator) find(name string, of map[string]any) goType {
	if ref, ok := of["$ref"].(string); ok {
		if last := ref[strings.LastIndexByte(ref, '/')+1:]; last != "" && last != "#" && name != g.whole {
			name = g.title + identifier(last)
		}
		return g.typeOf(name, schema.Lookup(g.root, ref))
	}
	kind, null := kindOf(of)
	t := g.untyped()
	switch kind {
	case "string":
		t = goType{expr: "string"}
	case "integer":
		t = goType{expr: "int64"}
	case "number":
		t = goType{expr: "float64"}
	case "boolean":
		t = goType{expr: "bool"}
	case "array":
		item := g.untyped()
		if _, tuple := of["prefixItems"]; !tuple {
			item = g.typeOf(name+"Item", of["items"])
		}
		t = goType{expr: "[]" + item.expr, nilable: true}
	case "object", "":
		properties, _ := of["properties"].(map[string]any)
		branches, isNull := g.branches(of)
		null = null || isNull
		more, open := of["additionalProperties"].(map[string]any)
		switch {
		case len(properties) > 0 && kind != "":
			t = g.declare(name, of, properties)
		case len(branches) > 0:
			t = g.common(name, branches)
		case kind != "" && open:
			t = goType{expr: "map[string]" + g.typeOf(name+"Value", more).expr, nilable: true}
		case kind != "":
			t = goType{expr: "map[string]" + g.untyped().expr, nilable: true}
		}
	}
	t.null = t.null || null
	if t.null {
		t = t.orNil()
	}
	return t
}

// branches returns what anyOf, oneOf or allOf of a schema offers beside null.
func (g *generator) branches(of map[string]any) (branches []any, null bool) {
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := of[key].([]any)
		if len(list) > 0 && branches != nil {
			return []any{true}, false // two of these words: any value
		}
		for _, branch := range list {
			if schema.Get(branch, "type") == "null" {
				null = true
				continue
			}
			branches = append(branches, branch)
		}
	}
	return branches, null
}

// common returns the type of values of any of several schemas.
func (g *generator) common(name string, branches []any) goType {
	if len(branches) == 1 {
		return g.typeOf(name, branches[0])
	}
	var all goType
	for i, branch := range branches {
		if kind, _ := kindOf(branch); !slices.Contains([]string{"string", "integer", "number", "boolean"}, kind) {
			return g.untyped()
		}
		t := g.typeOf(name, branch)
		if i > 0 && (t.expr != all.expr) {
			return g.untyped()
		}
		all = t
	}
	return all
}

// declare declares a struct and returns its type. If the names of its properties cannot
// be those of fields, it is untyped.
func (g *generator) declare(name string, of, properties map[string]any) goType {
	keys := slices.Sorted(maps.Keys(properties))
	if slices.ContainsFunc(keys, untaggable) {
		return g.untyped()
	}
	about := g.aboutPart
	if name == g.whole {
		about, g.whole = g.about, ""
	}
	name = unique(name, g.names)
	t := goType{expr: name}
	g.known[reflect.ValueOf(of).Pointer()] = t
	g.open[name] = true
	defer delete(g.open, name)
	at := len(g.types)
	g.types = append(g.types, "")
	required, _ := of["required"].([]any)
	var fields, empty bytes.Buffer
	used := map[string]bool{"MarshalJSON": true}
	for _, key := range keys {
		field := unique(identifier(key), used)
		of := g.typeOf(name+field, properties[key])
		tag := key
		switch {
		case !slices.Contains(required, any(key)):
			of = of.orNil()
			tag += ",omitzero"
		case g.open[of.expr]:
			of = of.orNil()
		case g.input && !of.null && of.nilable && strings.ContainsRune("[m", rune(of.expr[0])):
			fmt.Fprintf(&empty, "\tif v.%s == nil {\n\t\tv.%s = %s{}\n\t}\n", field, field, of.expr)
		}
		if tag == "-" {
			tag = "-,"
		}
		g.describe(&fields, properties[key])
		fmt.Fprintf(&fields, "%s %s `json:%q`\n", field, of.expr, tag)
	}
	var code bytes.Buffer
	comment(&code, name+" "+about)
	fmt.Fprintf(&code, "type %s struct {\n%s}\n\n", name, &fields)
	if empty.Len() > 0 {
		fmt.Fprintf(&code, "// MarshalJSON writes required lists and maps that are nil as empty ones.\nfunc (v %s) MarshalJSON() ([]byte, error) {\n\ttype fields %s\n%s\treturn json.Marshal(fields(v))\n}\n\n", name, name, &empty)
	}
	g.types[at] = code.String()
	return t
}

// describe writes what a schema says of a field as its comment.
func (g *generator) describe(b *bytes.Buffer, of any) {
	text, _ := schema.Get(of, "description").(string)
	if ref, ok := schema.Get(of, "$ref").(string); ok {
		of = schema.Lookup(g.root, ref)
		if text == "" {
			text, _ = schema.Get(of, "description").(string)
		}
	}
	const most = 400
	var notes []string
	if texts := literals(schema.Get(of, "enum")); texts != nil {
		notes = append(notes, "One of: "+plain.Cut(strings.Join(texts, ", "), most)+".")
	} else if texts := literals(schema.Get(schema.Get(of, "items"), "enum")); texts != nil {
		notes = append(notes, "Any of: "+plain.Cut(strings.Join(texts, ", "), most)+".")
	} else if v := schema.Get(of, "const"); v != nil {
		notes = append(notes, "Always "+plain.Cut(literal(v), most)+".")
	}
	if v := schema.Get(of, "default"); v != nil {
		notes = append(notes, "Default: "+plain.Cut(literal(v), most)+".")
	}
	if text = strings.TrimSpace(text); text != "" && len(notes) > 0 && !strings.ContainsAny(text[len(text)-1:], ".!?:;") {
		text += "."
	}
	comment(b, text+"\n"+strings.Join(notes, " "))
}

// literals returns the values of a list as text.
func literals(list any) (texts []string) {
	values, _ := list.([]any)
	for _, v := range values {
		texts = append(texts, literal(v))
	}
	return texts
}

// literal returns a JSON value as text.
func literal(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // which was decoded
	return strings.TrimSuffix(b.String(), "\n")
}

// untaggable reports whether the tag of a field cannot say the name of a property.
func untaggable(key string) bool {
	return key == "" || strings.ContainsFunc(key, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// kindOf returns the one type that a schema allows beside null; empty if it is not one.
func kindOf(of any) (kind string, null bool) {
	kinds := schema.Types(of)
	if kinds == nil && schema.Get(of, "properties") != nil {
		kinds = []string{"object"}
	}
	if schema.Get(of, "type") == nil && schema.Get(of, "enum") == nil && schema.Get(of, "const") == nil && schema.Get(of, "items") != nil {
		kinds = append(kinds, "array")
	}
	null = schema.Get(of, "nullable") == true || slices.Contains(kinds, "null")
	for _, one := range kinds {
		switch {
		case one == "null":
		case kind == "" || kind == one || kind == "integer" && one == "number":
			kind = one
		case kind == "number" && one == "integer":
		default:
			return "", null
		}
	}
	return kind, null
}
