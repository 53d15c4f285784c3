package profile_test

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

var openAIName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkOpenAI returns what the Responses API would refuse.
func checkOpenAI(declaration []byte) []string {
	v := &violations{}
	n := v.readDeclaration(declaration)
	if n == nil {
		return v.list
	}
	v.only("", n, "type", "name", "description", "parameters", "strict", "defer_loading")
	if !n.get("type").says("function") {
		v.add("/type", "not a function")
	}
	if d := n.get("defer_loading"); d != nil && !d.is('t') {
		v.add("/defer_loading", "neither true nor false")
	}
	v.checkOpenAIFunction(n)
	return v.list
}

// checkOpenAIChat returns what the Chat Completions API would refuse.
func checkOpenAIChat(declaration []byte) []string {
	v := &violations{}
	n := v.readDeclaration(declaration)
	if n == nil {
		return v.list
	}
	v.only("", n, "type", "function")
	if !n.get("type").says("function") {
		v.add("/type", "not a function")
	}
	f := n.get("function")
	if !f.is('{') {
		v.add("/function", "missing")
		return v.list
	}
	v.only("/function", f, "name", "description", "parameters", "strict")
	if d := f.get("description"); d != nil && utf8.RuneCountInString(d.text) > 1024 {
		v.add("/function/description", "longer than 1024 characters")
	}
	v.checkOpenAIFunction(f)
	return v.list
}

// checkOpenAIFunction adds what both refuse.
func (v *violations) checkOpenAIFunction(n *node) {
	if name := n.get("name"); !name.is('"') || !openAIName.MatchString(name.text) {
		v.add("/name", "not a name")
	}
	v.checkText("/description", n.get("description"))
	parameters := n.get("parameters")
	if !parameters.is('{') {
		v.add("/parameters", "not an object")
		return
	}
	switch strict := n.get("strict"); {
	case strict == nil:
		v.add("/strict", "missing: the provider then guesses")
	case !strict.is('t'):
		v.add("/strict", "neither true nor false")
	case strict.text == "true":
		v.checkStrict(parameters)
	default:
		v.checkLax(parameters)
	}
}

// checkLax adds what is refused of a schema that is not strict.
func (v *violations) checkLax(schema *node) {
	v.checkDialect(schema)
	v.checkPatterns(schema)
	if !schema.get("type").says("object") {
		v.add("", "the type of the whole is not object")
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if schema.get(key) != nil {
			v.add(corpusMember("", key), "not taken at the top level")
		}
	}
	if !schema.get("properties").is('{') {
		v.add("", "object schema missing properties")
	}
	eachSchema("", schema, func(place string, n *node) bool {
		for _, name := range corpusTypes(n) {
			if items := n.get("items"); name == "array" && !items.is('{') && !items.is('t') {
				v.add(place, "array schema missing items")
			}
		}
		if list := n.get("enum"); list.is('[') && len(list.items) == 0 {
			v.add(place, "enum of nothing")
		}
		return true
	})
}
