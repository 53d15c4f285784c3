package providercheck

import "regexp"

// The rules of Anthropic, as of November 2026. Documented: the form of declarations and
// the type of the whole (types of anthropic-sdk-go). From the errors that users were
// answered: names of 128 characters, 64 of tools that are referred to, no alternatives
// at the top level, names of the properties there, and JSON Schema of 2020-12.

var (
	// AnthropicName matches the names of tools that are not deferred.
	AnthropicName     = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	anthropicDeferred = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) // as a tool_reference takes it
	anthropicProperty = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
)

// Anthropic returns what the Messages API would refuse.
func Anthropic(declaration []byte) []string {
	v := &violations{}
	n := v.readDeclaration(declaration)
	if n == nil {
		return v.list
	}
	v.only("", n, "type", "name", "description", "input_schema", "strict", "defer_loading",
		"allowed_callers", "input_examples", "cache_control")
	if t := n.Get("type"); t != nil && !t.Says("custom") {
		v.add("/type", "not custom")
	}
	name, deferred := n.Get("name"), n.Get("defer_loading")
	switch {
	case deferred != nil && !deferred.Is('t'):
		v.add("/defer_loading", "neither true nor false")
	case deferred != nil && deferred.Text == "true" && !(name.Is('"') && anthropicDeferred.MatchString(name.Text)):
		v.add("/name", "not a name of a deferred tool")
	case !name.Is('"') || !AnthropicName.MatchString(name.Text):
		v.add("/name", "not a name")
	}
	if s := n.Get("strict"); s != nil && (!s.Is('t') || s.Text == "true") {
		v.add("/strict", "strict tools have rules of their own")
	}
	v.checkText("/description", n.Get("description"))
	v.checkClaude("/input_schema", n.Get("input_schema"))
	return v.list
}

// checkClaude adds what Claude refuses of a schema, wherever it is hosted.
func (v *violations) checkClaude(place string, schema *Node) {
	if !schema.Is('{') {
		v.add(place, "not an object")
		return
	}
	if !schema.Get("type").Says("object") {
		v.add(place, "the type of the whole is not object")
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		if schema.Get(key) != nil {
			v.add(Member(place, key), "not taken at the top level")
		}
	}
	if properties := schema.Get("properties"); properties.Is('{') {
		for _, name := range properties.Names {
			if !anthropicProperty.MatchString(name) {
				v.add(Member(place, "properties"), "%q is not a key", name)
			}
		}
	}
	v.checkDialect(schema)
}
