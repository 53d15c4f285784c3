package providercheck

import (
	"regexp"
	"slices"
)

// The rules of Gemini, as of November 2026. Documented: the keywords of
// parametersJsonSchema, which are told of responseJsonSchema (types of
// google.golang.org/genai). From the errors that users of the Gemini API and of Vertex AI
// were answered: names of 64 characters, references, missing types and items, what stands
// beside anyOf, formats, and nesting, of which no limit is told.

// GeminiName matches the names of functions that both services take. The errors of one of
// them allow colons as well.
var GeminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)

// geminiNesting is more than the depth at which schemas are known to be refused: the
// limit is not told.
const geminiNesting = 16

// Gemini returns what generateContent would refuse, on either service.
func Gemini(declaration []byte) []string {
	v := &violations{}
	n := v.readDeclaration(declaration)
	if n == nil {
		return v.list
	}
	v.only("", n, "name", "description", "parametersJsonSchema")
	if name := n.Get("name"); !name.Is('"') || !GeminiName.MatchString(name.Text) {
		v.add("/name", "not a name")
	}
	v.checkText("/description", n.Get("description"))
	if schema := n.Get("parametersJsonSchema"); schema != nil {
		if !schema.Get("type").Says("object") {
			v.add("", "the type of the whole is not object")
		}
		v.geminiSchema("", schema, 1)
	}
	return v.list
}

// geminiSchema checks a schema as parametersJsonSchema takes it, by what is
// documented for it, and by what either service is known to refuse.
func (v *violations) geminiSchema(place string, n *Node, depth int) {
	if !n.Is('{') {
		v.add(place, "not an object")
		return
	}
	if depth > geminiNesting {
		v.add(place, "too deep")
		return
	}
	v.only(place, n, "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems", "minimum", "maximum",
		"anyOf", "oneOf", "properties", "additionalProperties", "required", "propertyOrdering", "default")
	v.checkText(Member(place, "description"), n.Get("description"))
	v.checkText(Member(place, "title"), n.Get("title"))
	v.geminiKinds(place, n)
	v.geminiEnum(place, n)
	v.geminiBounds(place, n, Types(n))
	for _, key := range []string{"anyOf", "oneOf", "prefixItems"} {
		list := n.Get(key)
		if list == nil {
			continue
		}
		if len(list.Items) == 0 {
			v.add(Member(place, key), "a list of nothing")
		}
		for i, item := range list.Items {
			v.geminiSchema(Element(Member(place, key), i), item, depth+1)
		}
	}
	if items := n.Get("items"); items != nil {
		v.geminiSchema(Member(place, "items"), items, depth+1)
	}
	if more := n.Get("additionalProperties"); more != nil && !more.Is('t') {
		v.geminiSchema(Member(place, "additionalProperties"), more, depth+1)
	}
	properties := n.Get("properties")
	if properties != nil && !properties.Is('{') {
		v.add(Member(place, "properties"), "not an object")
		return
	}
	for _, key := range []string{"required", "propertyOrdering"} {
		if list := n.Get(key); list != nil {
			v.checkNames(Member(place, key), list, properties, true)
		}
	}
	if properties != nil {
		for _, name := range properties.Names {
			v.geminiSchema(Member(Member(place, "properties"), name), properties.Get(name), depth+1)
		}
	}
}

// geminiKinds checks the type, and what may stand beside which.
func (v *violations) geminiKinds(place string, n *Node) {
	names := v.checkTypes(place, n)
	union := n.Get("anyOf") != nil || n.Get("oneOf") != nil
	if n.Get("type") == nil && !union {
		v.add(place, "didn't specify the schema type field")
	}
	for _, key := range n.Names {
		switch key {
		case "properties", "required", "additionalProperties", "propertyOrdering":
			if !slices.Contains(names, "object") {
				v.add(Member(place, key), "only for objects")
			}
		case "items", "prefixItems", "minItems", "maxItems":
			if !slices.Contains(names, "array") {
				v.add(Member(place, key), "only for arrays")
			}
		case "anyOf", "oneOf", "title", "description", "default":
			continue
		}
		if union {
			v.add(Member(place, key), "beside anyOf")
		}
	}
	if slices.Contains(names, "array") && n.Get("items") == nil && n.Get("prefixItems") == nil {
		v.add(place, "items: missing field")
	}
}

func (v *violations) geminiEnum(place string, n *Node) {
	list := n.Get("enum")
	if list == nil {
		return
	}
	v.checkEnum(place, list, Types(n))
	for _, item := range list.Items {
		if !item.Is('"') && !item.Is('0') || item.Says("") {
			v.add(Member(place, "enum"), "%s: neither a text nor a number", item.Write())
		}
		if item.Is('0') && !finite(item) {
			v.add(Member(place, "enum"), "%s is no number for it", item.Text)
		}
	}
}

func (v *violations) geminiBounds(place string, n *Node, names []string) {
	if f := n.Get("format"); f != nil {
		known := map[string][]string{"string": {"date-time", "date", "time"}, "integer": {"int32", "int64"}, "number": {"float", "double"}}
		ok := false
		for _, name := range names {
			ok = ok || slices.Contains(known[name], f.Text)
		}
		if !ok {
			v.add(place, "format %q of %v", f.Text, names)
		}
	}
	v.checkBounds(place, n)
}
