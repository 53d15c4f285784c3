package schemagate

import (
	"encoding/json"
	"math/big"
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

// formOf returns what a keyword asks of its value, 0 for anything, and whether the metaschema of the dialect
// asks for that, too. What [strip] takes away may be anything.
func (d draft) formOf(keyword string) (f form, known bool) {
	switch keyword {
	case "type":
		return someTypes, true
	case "properties", "patternProperties", "definitions":
		return schemasByName, true
	case "$defs", "dependentSchemas":
		return schemasByName, !d.refAlone
	case "required":
		return someNames, true
	case "enum":
		if d.refAlone {
			return filledList, true
		}
		return anyList, true
	case "additionalProperties", "propertyNames", "contains", "not":
		return oneSchema, true
	case "unevaluatedItems", "unevaluatedProperties":
		return oneSchema, !d.refAlone
	case "if", "then", "else":
		return oneSchema, d.conditions()
	case "additionalItems":
		return oneSchema, !d.tuples()
	case "allOf", "anyOf", "oneOf":
		return someSchemas, true
	case "prefixItems":
		return someSchemas, d.tuples()
	case "items":
		if d.tuples() {
			return oneSchema, true
		}
		return schemaOrSchemas, true
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return wholeNumber, true
	case "minContains", "maxContains":
		return wholeNumber, !d.refAlone
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return anyNumber, true
	case "multipleOf":
		return positiveNumber, true
	case "uniqueItems":
		return eitherWay, true
	case "pattern":
		return someText, true
	case "dependencies":
		return schemasOrNamesByName, true
	case "dependentRequired":
		return namesByName, !d.refAlone
	}
	return 0, false
}

// Holds reports whether the value of a keyword is made of schemas in any dialect, and whether these have names.
func Holds(keyword string) (schemas, byName bool) {
	f, _ := draft{}.formOf(keyword)
	return f.holdsSchemas(), f == schemasByName || f == schemasOrNamesByName
}

// holdsSchemas reports whether a value of the form holds schemas.
func (f form) holdsSchemas() bool { return f >= oneSchema && f <= schemasOrNamesByName }

// fits checks the keywords that hold no schemas.
func (f form) fits(value any) (ok bool) {
	switch f {
	case namesByName:
		members, ok := value.(map[string]any)
		for _, names := range members {
			ok = ok && someNames.fits(names)
		}
		return ok
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
