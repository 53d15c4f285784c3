package profile_test

import (
	"regexp"
	"slices"
	"strings"
)

// The rules of Gemini, as of November 2026. Documented: the two kinds of parameters and
// the keywords of each (types of google.golang.org/genai), where those of
// parametersJsonSchema are told of responseJsonSchema. From the errors that users of the
// Gemini API and of Vertex AI were answered: names of 64 characters, references, missing
// types and items, what stands beside anyOf, formats, and nesting, of which no limit is
// told.

var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)

// geminiNesting is more than the depth at which schemas are known to be refused: the
// limit is not told.
const geminiNesting = 16

// checkGemini returns what generateContent would refuse, on either service.
func checkGemini(declaration []byte) []string {
	v := &violations{}
	n := v.readDeclaration(declaration)
	if n == nil {
		return v.list
	}
	v.only("", n, "name", "description", "parameters", "parametersJsonSchema")
	if name := n.get("name"); !name.is('"') || !geminiName.MatchString(name.text) {
		v.add("/name", "not a name")
	}
	v.checkText("/description", n.get("description"))
	lax, old := n.get("parametersJsonSchema"), n.get("parameters")
	switch {
	case lax != nil && old != nil:
		v.add("", "both kinds of parameters")
	case lax != nil:
		if !lax.get("type").says("object") {
			v.add("", "the type of the whole is not object")
		}
		v.geminiSchema("", lax, 1)
	case old != nil:
		if !strings.EqualFold(old.get("type").name(), "object") {
			v.add("", "the type of the whole is not object")
		}
		v.geminiMessage("", old, 1)
	}
	return v.list
}

// name returns the text of a string, none of anything else.
func (n *node) name() string {
	if !n.is('"') {
		return ""
	}
	return n.text
}

// geminiSchema checks a schema as parametersJsonSchema takes it, by what is
// documented for it, and by what either service is known to refuse.
func (v *violations) geminiSchema(place string, n *node, depth int) {
	if !n.is('{') {
		v.add(place, "not an object")
		return
	}
	if depth > geminiNesting {
		v.add(place, "too deep")
		return
	}
	v.only(place, n, "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems", "minimum", "maximum",
		"anyOf", "oneOf", "properties", "additionalProperties", "required", "propertyOrdering", "default")
	v.checkText(corpusMember(place, "description"), n.get("description"))
	v.checkText(corpusMember(place, "title"), n.get("title"))
	v.geminiKinds(place, n)
	v.geminiEnum(place, n)
	v.geminiBounds(place, n, corpusTypes(n))
	for _, key := range []string{"anyOf", "oneOf", "prefixItems"} {
		list := n.get(key)
		if list == nil {
			continue
		}
		if len(list.items) == 0 {
			v.add(corpusMember(place, key), "a list of nothing")
		}
		for i, item := range list.items {
			v.geminiSchema(corpusElement(corpusMember(place, key), i), item, depth+1)
		}
	}
	if items := n.get("items"); items != nil {
		v.geminiSchema(corpusMember(place, "items"), items, depth+1)
	}
	if more := n.get("additionalProperties"); more != nil && !more.is('t') {
		v.geminiSchema(corpusMember(place, "additionalProperties"), more, depth+1)
	}
	properties := n.get("properties")
	if properties != nil && !properties.is('{') {
		v.add(corpusMember(place, "properties"), "not an object")
		return
	}
	for _, key := range []string{"required", "propertyOrdering"} {
		if list := n.get(key); list != nil {
			v.checkNames(corpusMember(place, key), list, properties, true)
		}
	}
	if properties != nil {
		for _, name := range properties.names {
			v.geminiSchema(corpusMember(corpusMember(place, "properties"), name), properties.get(name), depth+1)
		}
	}
}

// geminiKinds checks the type, and what may stand beside which.
func (v *violations) geminiKinds(place string, n *node) {
	t, names := n.get("type"), corpusTypes(n)
	for _, name := range names {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, name) {
			v.add(place, "type %q", name)
		}
	}
	if t != nil && !t.is('"') && (len(names) != 2 || names[0] == names[1] || !slices.Contains(names, "null")) {
		v.add(place, "type %v is not one type or null", names)
	}
	union := n.get("anyOf") != nil || n.get("oneOf") != nil
	if t == nil && !union {
		v.add(place, "didn't specify the schema type field")
	}
	for _, key := range n.names {
		switch key {
		case "properties", "required", "additionalProperties", "propertyOrdering":
			if !slices.Contains(names, "object") {
				v.add(corpusMember(place, key), "only for objects")
			}
		case "items", "prefixItems", "minItems", "maxItems":
			if !slices.Contains(names, "array") {
				v.add(corpusMember(place, key), "only for arrays")
			}
		case "anyOf", "oneOf", "title", "description", "default":
			continue
		}
		if union {
			v.add(corpusMember(place, key), "beside anyOf")
		}
	}
	if slices.Contains(names, "array") && n.get("items") == nil && n.get("prefixItems") == nil {
		v.add(place, "items: missing field")
	}
}

func (v *violations) geminiEnum(place string, n *node) {
	list := n.get("enum")
	if list == nil {
		return
	}
	v.checkEnum(place, list, corpusTypes(n))
	for _, item := range list.items {
		if !item.is('"') && !item.is('0') || item.says("") {
			v.add(corpusMember(place, "enum"), "%s: neither a text nor a number", item.write())
		}
		if item.is('0') && !corpusFinite(item) {
			v.add(corpusMember(place, "enum"), "%s is no number for it", item.text)
		}
	}
}

func (v *violations) geminiBounds(place string, n *node, names []string) {
	if f := n.get("format"); f != nil {
		known := map[string][]string{"string": {"date-time", "date", "time"}, "integer": {"int32", "int64"}, "number": {"float", "double"}}
		ok := false
		for _, name := range names {
			ok = ok || slices.Contains(known[name], f.text)
		}
		if !ok {
			v.add(place, "format %q of %v", f.text, names)
		}
	}
	for _, key := range []string{"minimum", "maximum"} {
		if bound := n.get(key); bound != nil && !corpusFinite(bound) {
			v.add(corpusMember(place, key), "not a number: %s", bound.text)
		}
	}
	for _, key := range []string{"minItems", "maxItems"} {
		if bound := n.get(key); bound != nil && !corpusCount(bound) {
			v.add(corpusMember(place, key), "not a count: %s", bound.text)
		}
	}
}

var geminiProperty = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)

// geminiMessage checks a schema as parameters takes it: a message of a fixed form.
func (v *violations) geminiMessage(place string, n *node, depth int) {
	if !n.is('{') || depth > geminiNesting {
		v.add(place, "not an object, or too deep")
		return
	}
	v.only(place, n, "type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "minimum", "maximum",
		"minLength", "maxLength", "pattern", "minProperties", "maxProperties", "anyOf", "properties", "required", "propertyOrdering", "default", "example")
	kind := strings.ToLower(n.get("type").name())
	union := n.get("anyOf")
	switch {
	case union != nil && len(n.names) > 1:
		v.add(place, "specified other fields alongside any_of")
	case union == nil && !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array"}, kind):
		v.add(place, "didn't specify the schema type field")
	case kind == "array" && n.get("items") == nil:
		v.add(place, "items: missing field")
	case kind == "object" && depth > 1 && len(n.get("properties").keys()) == 0:
		v.add(place, "properties: should be non-empty for OBJECT type")
	}
	for _, item := range n.get("enum").list() {
		if !item.is('"') || item.text == "" || kind != "string" {
			v.add(place, "enum: only allowed for STRING type")
		}
	}
	formats := map[string][]string{"string": {"enum", "date-time"}, "integer": {"int32", "int64"}, "number": {"float", "double"}}
	if f := n.get("format"); f != nil && !slices.Contains(formats[kind], f.text) {
		v.add(place, "format %q", f.text)
	}
	if required := n.get("required"); required != nil {
		v.checkNames(corpusMember(place, "required"), required, n.get("properties"), true)
	}
	for i, branch := range union.list() {
		v.geminiMessage(corpusElement(corpusMember(place, "anyOf"), i), branch, depth+1)
	}
	if items := n.get("items"); items != nil {
		v.geminiMessage(corpusMember(place, "items"), items, depth+1)
	}
	for _, name := range n.get("properties").keys() {
		if !geminiProperty.MatchString(name) {
			v.add(corpusMember(place, "properties"), "%q is not a name", name)
		}
		v.geminiMessage(corpusMember(corpusMember(place, "properties"), name), n.get("properties").get(name), depth+1)
	}
}

// keys returns the names of the members of an object.
func (n *node) keys() []string {
	if n == nil {
		return nil
	}
	return n.names
}
