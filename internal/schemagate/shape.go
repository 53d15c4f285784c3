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
// that stand where the dialect knows none, too. The metaschemas themselves would take as long as
// all else of [Check] together.
func (g *graph) shape() error {
	if m := g.shapeOf(g.root); m != nil {
		return m.at("")
	}
	for _, n := range g.nodes {
		if _, ok := g.moved[n]; !ok {
			continue
		}
		if m := g.shapeOf(n.schema); m != nil {
			return m.at(n.path)
		}
	}
	return nil
}

// A misshape is the place of a value that is not what its keyword asks for, innermost token
// first. It grows on the way back, so that a schema in which nothing is wrong has to pay for none.
type misshape []string

func (m misshape) at(path string) error {
	for _, token := range slices.Backward(m) {
		path = join(path, token)
	}
	return refuse(Invalid, path, "the value is not what the dialect asks for")
}

func wrong() misshape { return misshape{} }

func (g *graph) shapeOf(schema any) misshape {
	switch schema := schema.(type) {
	case map[string]any:
		return foremost(schema, func(keyword string, value any) misshape {
			return g.keyword(g.draft.formOf(keyword), value)
		})
	case bool:
		return nil
	}
	return wrong()
}

// foremost returns what is wrong with the member of an object whose name comes first,
// so that the verdict is the same each time.
func foremost(object map[string]any, each func(name string, value any) misshape) misshape {
	var first misshape
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
	return append(first, name)
}

func (g *graph) keyword(f form, value any) misshape {
	_, isList := value.([]any)
	switch {
	case f == oneSchema, f == schemaOrSchemas && !isList:
		return g.shapeOf(value)
	case f == someSchemas, f == schemaOrSchemas:
		list, _ := value.([]any)
		for i, element := range list {
			if m := g.shapeOf(element); m != nil {
				return append(m, strconv.Itoa(i))
			}
		}
		if len(list) == 0 {
			return wrong()
		}
	case f == schemasByName, f == schemasOrNamesByName, f == namesByName:
		members, ok := value.(map[string]any)
		if !ok {
			return wrong()
		}
		return foremost(members, func(_ string, member any) misshape {
			if _, isList := member.([]any); f == namesByName || f == schemasOrNamesByName && isList {
				return g.keyword(someNames, member)
			}
			return g.shapeOf(member)
		})
	case !f.fits(value):
		return wrong()
	}
	return nil
}

// fits checks the keywords that hold no schemas.
func (f form) fits(value any) (ok bool) {
	switch f {
	case someNames:
		return eachOnce(value, func(string) bool { return true })
	case someTypes:
		if name, ok := value.(string); ok {
			value = []any{name}
		}
		list, _ := value.([]any)
		return len(list) > 0 && eachOnce(value, func(name string) bool { return kindNames[name] != 0 })
	case anyList:
		_, ok = value.([]any)
	case filledList:
		list, _ := value.([]any)
		ok = len(list) > 0
	case anyNumber:
		_, ok = value.(json.Number)
	case positiveNumber:
		n, isNumber := value.(json.Number)
		mantissa, _, _ := strings.Cut(strings.ToLower(string(n)), "e")
		ok = isNumber && n[0] != '-' && strings.ContainsAny(mantissa, "123456789")
	case wholeNumber:
		n, isNumber := value.(json.Number)
		ok = isNumber && isCount(n)
	case eitherWay:
		_, ok = value.(bool)
	case someText:
		_, ok = value.(string)
	default:
		return true
	}
	return ok
}

// eachOnce reports whether a value is a list of names, each there once and allowed.
func eachOnce(value any, allowed func(name string) bool) bool {
	list, ok := value.([]any)
	seen := make(map[string]struct{}, len(list))
	for _, element := range list {
		name, isName := element.(string)
		ok = ok && isName && allowed(name)
		seen[name] = struct{}{}
	}
	return ok && len(seen) == len(list)
}

// isCount reports whether n is a whole number that is not negative.
func isCount(n json.Number) bool {
	if !strings.ContainsAny(string(n), "-.eE") {
		return true
	}
	r, ok := new(big.Rat).SetString(string(n))
	return ok && r.IsInt() && r.Sign() >= 0
}
