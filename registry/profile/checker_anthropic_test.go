package profile_test

import "regexp"

// The rules of Anthropic, as of November 2026. Documented: the form of declarations and
// the type of the whole (types of anthropic-sdk-go). From the errors that users were
// answered: names of 128 characters, 64 of tools that are referred to, no alternatives
// at the top level, names of the properties there, and JSON Schema of 2020-12.

var (
	anthropicName     = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	anthropicDeferred = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) // as a tool_reference takes it
	anthropicProperty = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
)

// checkAnthropic returns what the Messages API would refuse.
func checkAnthropic(declaration []byte) []string {
	v := &violations{}
	n := v.readDeclaration(declaration)
	if n == nil {
		return v.list
	}
	v.only("", n, "type", "name", "description", "input_schema", "strict", "defer_loading")
	if t := n.get("type"); t != nil && !t.says("custom") {
		v.add("/type", "not custom")
	}
	name, deferred := n.get("name"), n.get("defer_loading")
	switch {
	case deferred != nil && !deferred.is('t'):
		v.add("/defer_loading", "neither true nor false")
	case deferred != nil && deferred.text == "true" && !(name.is('"') && anthropicDeferred.MatchString(name.text)):
		v.add("/name", "not a name of a deferred tool")
	case !name.is('"') || !anthropicName.MatchString(name.text):
		v.add("/name", "not a name")
	}
	if s := n.get("strict"); s != nil && (!s.is('t') || s.text == "true") {
		v.add("/strict", "strict tools have rules of their own")
	}
	v.checkText("/description", n.get("description"))
	v.checkClaude("/input_schema", n.get("input_schema"))
	return v.list
}

// checkClaude adds what Claude refuses of a schema, wherever it is hosted.
func (v *violations) checkClaude(place string, schema *node) {
	if !schema.is('{') {
		v.add(place, "not an object")
		return
	}
	if !schema.get("type").says("object") {
		v.add(place, "the type of the whole is not object")
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		if schema.get(key) != nil {
			v.add(corpusMember(place, key), "not taken at the top level")
		}
	}
	if properties := schema.get("properties"); properties.is('{') {
		for _, name := range properties.names {
			if !anthropicProperty.MatchString(name) {
				v.add(corpusMember(place, "properties"), "%q is not a key", name)
			}
		}
	}
	v.checkDialect(schema)
}
