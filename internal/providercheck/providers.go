package providercheck

import "slices"

// The rules of OpenAI, as of November 2026. Documented: the form of declarations and
// names (types of openai-go v3), tool search
// (developers.openai.com/api/docs/guides/tools-tool-search). From the errors that
// users were answered: the top level, missing items and properties, a strict that is
// not said, patterns that Python's re does not compile or that look around, and 1024
// characters of description in Chat Completions.

// OpenAI returns what the Responses API would refuse.
func OpenAI(declaration []byte) []string { return openAI("openai", declaration) }

// OpenAIChat returns what the Chat Completions API would refuse.
func OpenAIChat(declaration []byte) []string { return openAI("chat", declaration, "function") }

func openAI(rule string, declaration []byte, steps ...string) []string {
	v, n := follow(rule, declaration, steps...)
	schema := n.Get("parameters")
	switch {
	case !schema.Is('{'):
		return v.list
	case n.Get("strict").IsTrue():
		v.checkStrict(schema)
	default:
		v.checkDialect(schema)
		EachSchema("", schema, func(place string, n *Node) bool {
			if items := n.Get("items"); slices.Contains(Types(n), "array") && !items.Is('{') && !items.Is('t') {
				v.add(place, "array schema missing items")
			}
			if list := n.Get("enum"); list.Is('[') && len(list.Items) == 0 {
				v.add(place, "enum of nothing")
			}
			return true
		})
	}
	v.checkPatterns(schema)
	return v.list
}

// The rules of strict mode, as of November 2026:
// developers.openai.com/api/docs/guides/structured-outputs, its supported schemas and
// limits. From the errors that users were answered: keywords that are not permitted,
// formats, what stands beside $ref, and schemas without a type. How levels are counted
// is not said; here each object and array is one.

// The limits of strict mode.
const (
	strictProperties = 5_000
	strictNesting    = 10
	strictText       = 120_000 // characters of names, enums and constants
	strictEnum       = 1_000   // values of all enums
	strictLongEnum   = 250     // strings in an enum from which on they are counted
	strictEnumText   = 15_000  // characters in such an enum
)

// checkStrict adds what is refused of a strict schema, and no rule tells.
func (v *violations) checkStrict(schema *Node) {
	v.checkValues(schema)
	properties, values, text := 0, 0, 0
	EachSchema("", schema, func(place string, n *Node) bool {
		if ref := n.Get("$ref"); ref != nil && schema.Resolve(ref.Text) == nil {
			v.add(place, "$ref %q leads nowhere", ref.Text)
		}
		for _, name := range n.Get("properties").Keys() {
			if !slices.ContainsFunc(n.Get("required").List(), func(r *Node) bool { return r.Says(name) }) {
				v.add(place, "%q is not required", name)
			}
			properties++
		}
		for _, key := range []string{"properties", "$defs", "definitions"} {
			for _, name := range n.Get(key).Keys() {
				text += len([]rune(name))
			}
		}
		if constant := n.Get("const"); constant != nil {
			text += len([]rune(constant.Text))
		}
		list, length := n.Get("enum").List(), 0
		for _, item := range list {
			length += len([]rune(item.StringValue()))
		}
		if len(list) > strictLongEnum && length > strictEnumText {
			v.add(place, "an enum of %d values and %d characters", len(list), length)
		}
		text, values = text+length, values+len(list)
		return true
	})
	for _, limit := range []struct {
		got, most int
		what      string
	}{
		{nesting(schema, schema, nil), strictNesting, "levels"}, {properties, strictProperties, "properties"},
		{values, strictEnum, "values in enums"}, {text, strictText, "characters in names and values"},
	} {
		if limit.got > limit.most {
			v.add("", "%d %s", limit.got, limit.what)
		}
	}
}

// nesting counts the objects and arrays in one another, the deepest way, each
// definition once on a way.
func nesting(root, n *Node, way []*Node) int {
	if n == nil || slices.Contains(way, n) {
		return 0
	}
	way = append(slices.Clone(way), n)
	if ref := n.Get("$ref"); ref != nil {
		return nesting(root, root.Resolve(ref.Text), way)
	}
	deepest := 0
	for _, key := range n.Keys() {
		if key == "$defs" || key == "definitions" {
			continue
		}
		eachBelow("", key, n.Get(key), func(_ string, below *Node) bool {
			deepest = max(deepest, nesting(root, below, way))
			return false
		})
	}
	if names := Types(n); slices.Contains(names, "object") || slices.Contains(names, "array") {
		deepest++
	}
	return deepest
}

// The rules of Anthropic, as of November 2026. Documented: the form of declarations and
// the type of the whole (types of anthropic-sdk-go). From the errors that users were
// answered: names of 128 characters, 64 of tools that are referred to, no alternatives
// at the top level, names of the properties there, and JSON Schema of 2020-12.

// Anthropic returns what the Messages API would refuse. Strict tools, which have rules of
// their own, are refused.
func Anthropic(declaration []byte) []string {
	v, schema := follow("anthropic", declaration, "input_schema")
	if schema != nil {
		v.checkDialect(schema)
	}
	return v.list
}

// The rules of Bedrock, as of November 2026. Documented: names, descriptions and the type
// of the whole (ToolSpecification and ToolInputSchema of the API reference), and the
// three keywords that Amazon Nova takes at the top level (its guide on defining a tool).
// From the errors that users were answered: those of Claude, and references, which
// other models do not follow.

// Bedrock returns what Converse, or one of the models behind it, would refuse.
func Bedrock(declaration []byte) []string {
	v, schema := follow("bedrock", declaration, "toolSpec", "inputSchema", "json")
	if schema == nil {
		return v.list
	}
	v.checkDialect(schema)
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

// The rules of Gemini, as of November 2026. Documented: the keywords of
// parametersJsonSchema, which are told of responseJsonSchema (types of
// google.golang.org/genai). From the errors that users of the Gemini API and of Vertex AI
// were answered: names of 64 characters, references, missing types and items, what stands
// beside anyOf, formats, and nesting, of which no limit is told. The errors of one of the
// services allow colons in names as well.

// geminiNesting is the number of objects and arrays that is more than the depth at which
// schemas are known to be refused: the limit is not told.
const geminiNesting = 15

// Gemini returns what generateContent would refuse, on either service.
func Gemini(declaration []byte) []string {
	v, schema := follow("gemini", declaration, "parametersJsonSchema")
	if schema != nil {
		v.checkValues(schema)
		if nesting(schema, schema, nil) > geminiNesting {
			v.add("", "too deep")
		}
	}
	return v.list
}
