package profile_test

import (
	"regexp"
	"strings"
)

// The rules of Bedrock, as of November 2026. Documented: names, descriptions and the type
// of the whole (ToolSpecification and ToolInputSchema of the API reference), and the
// three keywords that Amazon Nova takes at the top level (its guide on defining a tool).
// From the errors that users were answered: those of Claude, and references, which
// other models do not follow.

var bedrockName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkBedrock returns what Converse, or one of the models behind it, would refuse.
func checkBedrock(declaration []byte) []string {
	v := &violations{}
	n := v.readDeclaration(declaration)
	if n == nil {
		return v.list
	}
	v.only("", n, "toolSpec")
	spec := n.get("toolSpec")
	if !spec.is('{') {
		v.add("/toolSpec", "missing")
		return v.list
	}
	v.only("/toolSpec", spec, "name", "description", "inputSchema")
	if name := spec.get("name"); !name.is('"') || !bedrockName.MatchString(name.text) {
		v.add("/toolSpec/name", "not a name")
	}
	if d := spec.get("description"); d != nil {
		v.checkText("/toolSpec/description", d)
		if strings.TrimSpace(d.text) == "" {
			v.add("/toolSpec/description", "blank")
		}
	}
	input := spec.get("inputSchema")
	if !input.is('{') || len(input.names) != 1 || !input.get("json").is('{') {
		v.add("/toolSpec/inputSchema", "not {json: schema}")
		return v.list
	}
	schema := input.get("json")
	v.only("", schema, "type", "properties", "required") // Nova
	if !schema.get("properties").is('{') {
		v.add("", "no properties")
	}
	v.checkClaude("", schema)
	eachSchema("", schema, func(place string, n *node) bool {
		for _, key := range []string{"$ref", "$defs", "definitions", "$id", "$anchor"} {
			if n.get(key) != nil {
				v.add(corpusMember(place, key), "not every model follows references")
			}
		}
		return true
	})
	return v.list
}
