package profile

import (
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

// A typeSet is a set of the types of JSON. A number is an integer or a fraction.
type typeSet uint8

const (
	typeString typeSet = 1 << iota
	typeInteger
	typeFraction
	typeBoolean
	typeObject
	typeArray
	typeNull

	typeNumber = typeInteger | typeFraction
	anyType    = typeNull<<1 - 1
)

// typesByName are the types as schemas call them.
var typesByName = map[string]typeSet{
	"string": typeString, "integer": typeInteger, "number": typeNumber, "boolean": typeBoolean,
	"object": typeObject, "array": typeArray, "null": typeNull,
}

// typeOf returns the type of a value.
func typeOf(value *node) typeSet {
	switch value.kind {
	case '{':
		return typeObject
	case '[':
		return typeArray
	case '"':
		return typeString
	case 't', 'f':
		return typeBoolean
	case 'n':
		return typeNull
	}
	if f, err := strconv.ParseFloat(value.text, 64); !strings.ContainsAny(value.text, ".eE") || err == nil && f == math.Trunc(f) {
		return typeInteger
	}
	return typeFraction
}

// typesNamed returns the types that the keyword type allows; all if it is missing.
func typesNamed(schema *node) typeSet {
	t := schema.get("type")
	if t == nil {
		return anyType
	}
	if t.kind == '"' {
		return typesByName[t.text]
	}
	var all typeSet
	for _, name := range t.texts() {
		all |= typesByName[name]
	}
	return all
}

// subschemas calls visit with each schema directly within schema.
func subschemas(schema *node, visit func(*node)) {
	for _, m := range schema.members {
		switch schemas, byName := schemagate.Holds(m.name); {
		case !schemas:
		case byName:
			for _, sub := range m.value.members {
				if sub.value.kind != '[' {
					visit(sub.value)
				}
			}
		case m.value.kind == '[':
			for _, sub := range m.value.elems {
				visit(sub)
			}
		default:
			visit(m.value)
		}
	}
}

// concerns returns the types that a keyword says something about, and whether it
// can refuse values. Unknown keywords, and those for people, cannot.
func concerns(keyword string) (typeSet, bool) {
	switch keyword {
	case "minLength", "maxLength", "pattern":
		return typeString, true
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return typeNumber, true
	case "items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems":
		return typeArray, true
	case "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
		"dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties":
		return typeObject, true
	case "type", "enum", "const", "not", "if", "then", "else", "allOf", "anyOf", "oneOf", "$ref":
		return anyType, true
	case "format":
		return typeString | typeNumber, false
	case "contentEncoding", "contentMediaType", "contentSchema":
		return typeString, false
	}
	return anyType, false
}

// onlyAnnotates reports whether no keyword of a schema can refuse a value.
func onlyAnnotates(schema *node) bool {
	return !slices.ContainsFunc(schema.members, func(m member) bool { _, refuses := concerns(m.name); return refuses })
}

// tooLarge reports whether a value holds a number that a float64 cannot hold.
func tooLarge(value *node) bool {
	switch value.kind {
	case '0':
		f, err := strconv.ParseFloat(value.text, 64)
		return err != nil || math.IsInf(f, 0)
	case '{':
		return slices.ContainsFunc(value.members, func(m member) bool { return tooLarge(m.value) })
	case '[':
		return slices.ContainsFunc(value.elems, tooLarge)
	}
	return false
}

// isCount reports whether a value is a whole number that every decoder of integers
// takes.
func isCount(value *node) bool {
	if value.kind != '0' {
		return false
	}
	_, err := strconv.ParseInt(value.text, 10, 64)
	return err == nil
}

// takesPattern reports whether the provider's engine reads a regular expression in
// the same way as ours. Only what all engines know is sent.
func (d *ruleset) takesPattern(pattern string) bool {
	if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
		return d.lookaround && hasLookaround(pattern)
	}
	return !ownSyntax.MatchString(escapedSign.ReplaceAllString(pattern, "."))
}

// ownSyntax matches what engines write in several ways: classes by name, flags and named groups, and ranges
// to or from a set such as \w.
var (
	ownSyntax   = regexp.MustCompile(`\\[pPQEzZACaG]|\\x\{|\(\?[^:\]]|\[[^\]]*\[:|\[[^\]]*\\[dDsSwW]-[^\]]|\[[^\]]+-\\[dDsSwW]`)
	escapedSign = regexp.MustCompile(`\\[^0-9A-Za-z]`)
)

func hasLookaround(pattern string) bool {
	return slices.ContainsFunc([]string{"(?=", "(?!", "(?<=", "(?<!"}, func(at string) bool { return strings.Contains(pattern, at) })
}
