package providercheck

import (
	"regexp"
	"strings"
)

// The rules of Bedrock, as of November 2026. Documented: names, descriptions and the type
// of the whole (ToolSpecification and ToolInputSchema of the API reference), and the
// three keywords that Amazon Nova takes at the top level (its guide on defining a tool).
// From the errors that users were answered: those of Claude, and references, which
// other models do not follow.

// BedrockName matches the names of tools.
var BedrockName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Bedrock returns what Converse, or one of the models behind it, would refuse.
func Bedrock(declaration []byte) []string {
	v := &violations{}
	n := v.readDeclaration(declaration)
	if n == nil {
		return v.list
	}
	v.only("", n, "toolSpec")
	spec := n.Get("toolSpec")
	if !spec.Is('{') {
		v.add("/toolSpec", "missing")
		return v.list
	}
	v.only("/toolSpec", spec, "name", "description", "inputSchema")
	if name := spec.Get("name"); !name.Is('"') || !BedrockName.MatchString(name.Text) {
		v.add("/toolSpec/name", "not a name")
	}
	if d := spec.Get("description"); d != nil {
		v.checkText("/toolSpec/description", d)
		if strings.TrimSpace(d.Text) == "" {
			v.add("/toolSpec/description", "blank")
		}
	}
	input := spec.Get("inputSchema")
	if !input.Is('{') || len(input.Names) != 1 || !input.Get("json").Is('{') {
		v.add("/toolSpec/inputSchema", "not {json: schema}")
		return v.list
	}
	schema := input.Get("json")
	v.only("", schema, "type", "properties", "required") // Nova
	if !schema.Get("properties").Is('{') {
		v.add("", "no properties")
	}
	v.checkClaude("", schema)
	EachSchema("", schema, func(place string, n *Node) bool {
		for _, key := range []string{"$ref", "$defs", "definitions", "$id", "$anchor"} {
			if n.Get(key) != nil {
				v.add(Member(place, key), "not every model follows references")
			}
		}
		return true
	})
	return v.list
}
