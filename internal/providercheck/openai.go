package providercheck

import (
	"regexp"
	"unicode/utf8"
)

// The rules of OpenAI, as of November 2026. Documented: the form of declarations and
// names (types of openai-go v3), tool search
// (developers.openai.com/api/docs/guides/tools-tool-search). From the errors that
// users were answered: the top level, missing items and properties, a strict that is
// not said, patterns that Python's re does not compile or that look around, and 1024
// characters of description in Chat Completions.

// OpenAIName matches the names of functions.
var OpenAIName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// OpenAI returns what the Responses API would refuse.
func OpenAI(declaration []byte) []string {
	v := &violations{}
	n := v.readDeclaration(declaration)
	if n == nil {
		return v.list
	}
	v.only("", n, "type", "name", "description", "parameters", "strict", "defer_loading", "allowed_callers", "output_schema")
	if !n.Get("type").Says("function") {
		v.add("/type", "not a function")
	}
	if d := n.Get("defer_loading"); d != nil && !d.Is('t') {
		v.add("/defer_loading", "neither true nor false")
	}
	if s := n.Get("strict"); s == nil {
		v.add("/strict", "missing: the provider then guesses")
	}
	v.checkOpenAIFunction(n)
	return v.list
}

// OpenAIChat returns what the Chat Completions API would refuse.
func OpenAIChat(declaration []byte) []string {
	v := &violations{}
	n := v.readDeclaration(declaration)
	if n == nil {
		return v.list
	}
	v.only("", n, "type", "function")
	if !n.Get("type").Says("function") {
		v.add("/type", "not a function")
	}
	f := n.Get("function")
	if !f.Is('{') {
		v.add("/function", "missing")
		return v.list
	}
	v.only("/function", f, "name", "description", "parameters", "strict")
	if d := f.Get("description"); d != nil && utf8.RuneCountInString(d.Text) > 1024 {
		v.add("/function/description", "longer than 1024 characters")
	}
	v.checkOpenAIFunction(f)
	return v.list
}

// checkOpenAIFunction adds what both refuse.
func (v *violations) checkOpenAIFunction(n *Node) {
	if name := n.Get("name"); !name.Is('"') || !OpenAIName.MatchString(name.Text) {
		v.add("/name", "not a name")
	}
	v.checkText("/description", n.Get("description"))
	parameters := n.Get("parameters")
	if !parameters.Is('{') {
		v.add("/parameters", "not an object")
		return
	}
	switch strict := n.Get("strict"); {
	case strict != nil && !strict.Is('t'):
		v.add("/strict", "neither true nor false")
	case strict != nil && strict.Text == "true":
		v.checkStrict(parameters)
	default:
		v.checkLax(parameters)
	}
}

// checkLax adds what is refused of a schema that is not strict.
func (v *violations) checkLax(schema *Node) {
	v.checkDialect(schema)
	v.checkPatterns(schema)
	if !schema.Get("type").Says("object") {
		v.add("", "the type of the whole is not object")
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if schema.Get(key) != nil {
			v.add(Member("", key), "not taken at the top level")
		}
	}
	if !schema.Get("properties").Is('{') {
		v.add("", "object schema missing properties")
	}
	EachSchema("", schema, func(place string, n *Node) bool {
		for _, name := range Types(n) {
			if items := n.Get("items"); name == "array" && !items.Is('{') && !items.Is('t') {
				v.add(place, "array schema missing items")
			}
		}
		if list := n.Get("enum"); list.Is('[') && len(list.Items) == 0 {
			v.add(place, "enum of nothing")
		}
		return true
	})
}
