package schemagate

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// A form is what a keyword asks of its value.
type form int

const (
	oneSchema form = iota + 1
	schemaOrSchemas
	someSchemas
	schemasByName
	schemasOrNamesByName
	namesByName
	someNames
	someTypes
	anyList
	filledList
	anyNumber
	positiveNumber
	wholeNumber
	eitherWay
	someText
)

// formOf returns what the metaschema of the dialect asks of a keyword's value; 0
// for what it does not know, or [strip] takes away.
func (d draft) formOf(keyword string) form {
	switch keyword {
	case "type":
		return someTypes
	case "properties", "patternProperties", "definitions":
		return schemasByName
	case "required":
		return someNames
	case "enum":
		if d.refAlone {
			return filledList
		}
		return anyList
	case "additionalProperties", "propertyNames", "contains", "not":
		return oneSchema
	case "allOf", "anyOf", "oneOf":
		return someSchemas
	case "items":
		if d.tuples() {
			return oneSchema
		}
		return schemaOrSchemas
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return wholeNumber
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return anyNumber
	case "multipleOf":
		return positiveNumber
	case "uniqueItems":
		return eitherWay
	case "pattern":
		return someText
	case "dependencies":
		return schemasOrNamesByName
	case "if", "then", "else":
		if d.conditions() {
			return oneSchema
		}
	case "additionalItems":
		if !d.tuples() {
			return oneSchema
		}
	}
	if d.refAlone {
		return 0
	}
	switch keyword {
	case "$defs", "dependentSchemas":
		return schemasByName
	case "unevaluatedItems", "unevaluatedProperties":
		return oneSchema
	case "dependentRequired":
		return namesByName
	case "minContains", "maxContains":
		return wholeNumber
	case "prefixItems":
		if d.tuples() {
			return someSchemas
		}
	}
	return 0
}

// shape holds the document against the metaschema of its dialect, and the schemas
// that stand where the dialect knows none, too.
func (g *graph) shape() error {
	if err := g.shapeOf(g.root); err != nil {
		return err.at("")
	}
	for _, n := range g.nodes {
		if _, ok := g.moved[n]; !ok {
			continue
		}
		if err := g.shapeOf(n.schema); err != nil {
			return err.at(n.path)
		}
	}
	return nil
}

// A misshape is what is wrong with a keyword. Its path grows on the way back, so
// that a schema in which nothing is wrong has to pay for none.
type misshape struct {
	path []string // innermost first
	want string
	got  any
}

func (m *misshape) under(token string) *misshape {
	m.path = append(m.path, token)
	return m
}

func (m *misshape) at(path string) error {
	for _, token := range slices.Backward(m.path) {
		path = join(path, token)
	}
	return refuse(Invalid, path, "want %s, got %s", m.want, seenAs(m.got))
}

func seenAs(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return quote(value)
	case json.Number:
		return shorten(string(value))
	case []any:
		return "an array"
	}
	return "an object"
}

func (g *graph) shapeOf(schema any) *misshape {
	object, ok := schema.(map[string]any)
	if !ok {
		if _, ok := schema.(bool); ok {
			return nil
		}
		return &misshape{want: "a schema", got: schema}
	}
	return foremost(object, func(keyword string, value any) *misshape {
		return g.keyword(g.draft.formOf(keyword), value)
	})
}

// foremost returns what is wrong with the member of an object whose name comes first,
// so that the verdict is the same each time.
func foremost(object map[string]any, each func(name string, value any) *misshape) *misshape {
	var first *misshape
	name := ""
	for other, value := range object {
		if first != nil && other > name {
			continue
		}
		if m := each(other, value); m != nil {
			first, name = m, other
		}
	}
	if first == nil {
		return nil
	}
	return first.under(name)
}

func (g *graph) keyword(f form, value any) *misshape {
	switch f {
	case oneSchema:
		return g.shapeOf(value)
	case schemaOrSchemas:
		if _, ok := value.([]any); ok {
			return g.list(value, g.shapeOf)
		}
		return g.shapeOf(value)
	case someSchemas:
		return g.list(value, g.shapeOf)
	case schemasByName:
		return g.byName(value, g.shapeOf)
	case schemasOrNamesByName:
		return g.byName(value, func(value any) *misshape {
			if _, ok := value.([]any); ok {
				return distinct(value)
			}
			return g.shapeOf(value)
		})
	case namesByName:
		return g.byName(value, distinct)
	}
	return simple(f, value)
}

// simple checks the keywords that hold no schemas.
func simple(f form, value any) *misshape {
	want := ""
	ok := true
	switch f {
	case someNames:
		return distinct(value)
	case someTypes:
		return typesShape(value)
	case anyList:
		want = "an array"
		_, ok = value.([]any)
	case filledList:
		want = "an array of one or more"
		list, isList := value.([]any)
		ok = isList && len(list) > 0
	case anyNumber:
		want = "a number"
		_, ok = value.(json.Number)
	case positiveNumber:
		want = "a number greater than 0"
		n, isNumber := value.(json.Number)
		ok = isNumber && n[0] != '-' && strings.ContainsAny(mantissa(n), "123456789")
	case wholeNumber:
		want = "an integer of 0 or more"
		n, isNumber := value.(json.Number)
		ok = isNumber && isCount(n)
	case eitherWay:
		want = "a boolean"
		_, ok = value.(bool)
	case someText:
		want = "a string"
		_, ok = value.(string)
	}
	if ok {
		return nil
	}
	return &misshape{want: want, got: value}
}

func (g *graph) list(value any, each func(any) *misshape) *misshape {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return &misshape{want: "an array of schemas, one or more", got: value}
	}
	for i, element := range list {
		if m := each(element); m != nil {
			return m.under(strconv.Itoa(i))
		}
	}
	return nil
}

func (g *graph) byName(value any, each func(any) *misshape) *misshape {
	members, ok := value.(map[string]any)
	if !ok {
		return &misshape{want: "an object", got: value}
	}
	return foremost(members, func(_ string, member any) *misshape { return each(member) })
}

// distinct checks a list of names.
func distinct(value any) *misshape {
	const want = "an array of strings, each once"
	list, ok := value.([]any)
	if !ok {
		return &misshape{want: want, got: value}
	}
	seen := make(map[string]struct{}, len(list))
	for _, element := range list {
		name, ok := element.(string)
		if !ok {
			return &misshape{want: want, got: element}
		}
		if _, twice := seen[name]; twice {
			return &misshape{want: want, got: name}
		}
		seen[name] = struct{}{}
	}
	return nil
}

func typesShape(value any) *misshape {
	const want = "a type, or an array of types, each once"
	if _, ok := value.(string); ok {
		value = []any{value}
	}
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return &misshape{want: want, got: value}
	}
	if m := distinct(value); m != nil {
		m.want = want
		return m
	}
	for _, element := range list {
		switch element {
		case "array", "boolean", "integer", "null", "number", "object", "string":
		default:
			return &misshape{want: want, got: element}
		}
	}
	return nil
}

func mantissa(n json.Number) string {
	m, _, _ := strings.Cut(strings.ToLower(string(n)), "e")
	return m
}

// isCount reports whether n is a whole number that is not negative.
func isCount(n json.Number) bool {
	if !strings.ContainsAny(string(n), "-.eE") {
		return true
	}
	r, ok := new(big.Rat).SetString(string(n))
	return ok && r.IsInt() && r.Sign() >= 0
}
