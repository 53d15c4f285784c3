package providercheck

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A checker returns what a provider would refuse of a declaration.
type checker func(declaration []byte) []string

// declare puts a schema into the declarations of each provider.
func declare() map[string]struct {
	check checker
	form  string
} {
	type c = struct {
		check checker
		form  string
	}
	return map[string]c{
		"openai":    {OpenAI, `{"type":"function","name":"t","parameters":%s,"strict":false}`},
		"chat":      {OpenAIChat, `{"type":"function","function":{"name":"t","parameters":%s,"strict":false}}`},
		"strict":    {OpenAI, `{"type":"function","name":"t","parameters":%s,"strict":true}`},
		"anthropic": {Anthropic, `{"name":"t","input_schema":%s}`},
		"gemini":    {Gemini, `{"name":"t","parametersJsonSchema":%s}`},
		"bedrock":   {Bedrock, `{"toolSpec":{"name":"t","inputSchema":{"json":%s}}}`},
		"ollama":    {Ollama, `{"type":"function","function":{"name":"t","parameters":%s}}`},
	}
}

// Each schema is told to be refused by some, for a reason, and to be taken by the
// others that are named.
func TestCheckersSeeSchemas(t *testing.T) {
	forms := declare()
	deep := `{"type":"string"}`
	for range 20 {
		deep = `{"type":"object","properties":{"a":` + deep + `},"required":["a"],"additionalProperties":false}`
	}
	long := `"` + strings.Repeat("x", 65) + `"`
	for _, test := range []struct {
		schema  string
		refused map[string]string
		taken   string
	}{
		{`{"type":"object","properties":{}}`, map[string]string{"strict": "additionalProperties"}, "openai chat anthropic gemini bedrock ollama"},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
			map[string]string{"bedrock": "additionalProperties"}, "openai chat strict anthropic gemini ollama"},
		{`{"type":"object"}`, map[string]string{"openai": "'properties'", "chat": "'properties'", "bedrock": "'properties'", "ollama": "'properties'"}, "anthropic gemini"},
		{`{"properties":{}}`, map[string]string{"openai": "'type'", "strict": "'type'", "anthropic": "'type'", "gemini": "'type'", "bedrock": "'type'", "ollama": "'type'"}, ""},
		{`{"type":["object"],"properties":{}}`, map[string]string{"openai": "object", "strict": "object", "anthropic": "object", "gemini": "object", "bedrock": "object", "ollama": "array"}, ""},
		{`{"type":"object","properties":{},"anyOf":[{"type":"object"}]}`,
			map[string]string{"openai": "/anyOf'", "strict": "/anyOf'", "anthropic": "/anyOf'", "gemini": "invalid propertyName", "bedrock": "anyOf"}, ""},
		{`{"type":"object","properties":{},"not":{"required":["a"]}}`, map[string]string{"openai": "/not'", "strict": "not", "gemini": "not", "bedrock": "not"}, "anthropic"},
		{`{"type":"object","properties":{"a":{"type":"array"}}}`,
			map[string]string{"openai": "missing items", "chat": "missing items", "strict": "'items'", "gemini": "'items'"}, "anthropic bedrock ollama"},
		{`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`,
			map[string]string{"openai": "2020-12", "strict": "want object", "anthropic": "2020-12", "gemini": "want object", "bedrock": "2020-12"}, "ollama"},
		{`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`,
			map[string]string{"openai": "lookaround", "chat": "lookaround", "strict": "lookaround", "gemini": "pattern"}, "anthropic bedrock ollama"},
		{`{"type":"object","properties":{"a":{"type":"number","exclusiveMinimum":true}}}`,
			map[string]string{"openai": "2020-12", "strict": "want number", "anthropic": "2020-12", "gemini": "exclusiveMinimum", "bedrock": "2020-12"}, "ollama"},
		{`{"type":"object","properties":{"a":true}}`, map[string]string{"strict": "want object", "gemini": "want object", "ollama": "bool"}, "openai anthropic bedrock"},
		{`{"type":"object","properties":{"a":{}}}`, map[string]string{"strict": "'anyOf' failed", "gemini": "'anyOf' failed"}, "openai anthropic bedrock ollama"},
		{`{"type":"object","properties":{"a b":{"type":"string"}}}`, map[string]string{"anthropic": "invalid propertyName", "bedrock": "invalid propertyName"}, "openai gemini ollama"},
		{`{"type":"object","properties":{` + long + `:{"type":"string"}}}`, map[string]string{"anthropic": "invalid propertyName", "bedrock": "invalid propertyName"}, "openai gemini ollama"},
		{`{"type":"object","properties":{"o":{"type":"object","properties":{"a b":{"type":"string"}}}}}`, nil, "openai anthropic gemini bedrock ollama"},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}`, map[string]string{"gemini": "$ref", "bedrock": "$ref"}, "openai anthropic ollama"},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/c"}},"$defs":{"b":{"type":"string"}}}`, map[string]string{"openai": "2020-12", "strict": "nowhere", "anthropic": "2020-12", "bedrock": "2020-12"}, ""},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/b","description":"x"}},"$defs":{"b":{"type":"string"}}}`, map[string]string{"strict": "maxProperties"}, "openai anthropic"},
		{`{"type":"object","properties":{"a":{"type":["string","null"]}}}`, nil, "openai anthropic gemini bedrock ollama"},
		{`{"type":"object","properties":{"a":{"type":["string","integer"]}}}`, map[string]string{"strict": "/type': 'anyOf'", "gemini": "/type': 'anyOf'"}, "openai anthropic bedrock ollama"},
		{`{"type":"object","properties":{"a":{"type":"integer","enum":[1,2]}}}`, nil, "openai anthropic gemini bedrock ollama"},
		{`{"type":"object","properties":{"a":{"type":"boolean","enum":[true]}}}`, map[string]string{"gemini": "/enum/0"}, "openai anthropic bedrock ollama"},
		{`{"type":"object","properties":{"a":{"type":"string","enum":["","b"]}}}`, map[string]string{"gemini": "/enum/0"}, "openai anthropic bedrock ollama"},
		{`{"type":"object","properties":{"a":{"type":"string","enum":[]}}}`, map[string]string{"openai": "nothing", "chat": "nothing", "strict": "minItems", "gemini": "minItems"}, ""},
		{`{"type":"object","properties":{"a":{"type":"number","enum":[1e400]}}}`, map[string]string{"gemini": "not finite", "ollama": "1e400"}, "openai anthropic"},
		{`{"type":"object","properties":{"a":{"const":1}}}`, map[string]string{"strict": "'type' required", "gemini": "const"}, "openai anthropic bedrock ollama"},
		{`{"type":"object","properties":{"a":{"type":"string","format":"uri"}}}`, map[string]string{"strict": "/format", "gemini": "format"}, "openai anthropic bedrock"},
		{`{"type":"object","properties":{"a":{"type":"string","format":"date"}}}`, nil, "openai gemini"},
		{`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`, map[string]string{"strict": "oneOf"}, "openai anthropic gemini bedrock ollama"},
		{`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"description":"x"}}}`, nil, "openai anthropic gemini bedrock ollama"},
		{`{"type":"object","properties":{"a":{"type":"string","anyOf":[{"minLength":1}]}}}`, map[string]string{"strict": "minLength", "gemini": "invalid propertyName"}, "openai anthropic"},
		{`{"type":"object","properties":{"a":{"type":"string","required":["b"]}}}`, map[string]string{"strict": "/required': false", "gemini": "must be 'object'"}, "openai anthropic"},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, map[string]string{"strict": "no property", "gemini": "no property"}, "openai anthropic bedrock ollama"},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","a"]}`, map[string]string{"openai": "2020-12", "anthropic": "2020-12", "gemini": "are equal", "bedrock": "2020-12"}, "ollama"},
		{`{"type":"object","properties":{},"$schema":"http://json-schema.org/draft-07/schema#"}`, map[string]string{"openai": "dialect", "anthropic": "dialect", "strict": "$schema", "gemini": "$schema", "bedrock": "$schema"}, ""},
		{`{"type":"object","properties":{"a":{"type":"string","description":5}}}`, map[string]string{"openai": "2020-12", "strict": "want string", "gemini": "want string", "ollama": "number"}, ""},
		{`{"type":"object","properties":{"a":{"type":"string","Description":5}}}`, map[string]string{"ollama": "number"}, "openai anthropic bedrock"},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"minItems":-1}}}`, map[string]string{"openai": "2020-12", "strict": "not count", "gemini": "not count"}, ""},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"minItems":1.0}}}`, map[string]string{"strict": "not count", "gemini": "not count"}, "openai"},
		{deep, map[string]string{"strict": "levels", "gemini": "too deep"}, "openai anthropic ollama"},
		{`{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`, map[string]string{"strict": "default"}, "openai anthropic gemini bedrock"},
		{`{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"number"}}}`, map[string]string{"openai": "twice", "anthropic": "twice", "gemini": "twice", "bedrock": "twice", "ollama": "twice"}, ""},
	} {
		for name, want := range test.refused {
			got := forms[name].check(fmt.Appendf(nil, forms[name].form, test.schema))
			assert.Contains(t, strings.Join(got, "\n"), want, "%s takes %.200s", name, test.schema)
		}
		for name := range strings.FieldsSeq(test.taken) {
			got := forms[name].check(fmt.Appendf(nil, forms[name].form, test.schema))
			assert.Equal(t, strings.Join(got, "\n"), "", "%s and %.200s", name, test.schema)
		}
	}
}

func TestCheckersSeeDeclarations(t *testing.T) {
	const empty = `{"type":"object","properties":{}}`
	for _, test := range []struct {
		check checker
		form  string
		want  string // empty: taken
	}{
		{OpenAI, `{"type":"function","name":"a.b","parameters":%s,"strict":false}`, "/name': "},
		{OpenAI, `{"type":"function","name":"a","parameters":%s}`, "strict"},
		{OpenAI, `{"type":"function","name":"a","parameters":%s,"strict":null}`, "strict"},
		{OpenAI, `{"type":"function","name":"a","parameters":%s,"strict":false,"x":1}`, "x"},
		{OpenAI, `{"type":"function","name":"a","parameters":%s,"strict":false,"defer_loading":true}`, ""},
		{OpenAI, `{"type":"function","name":"a","description":"a\u0000b","parameters":%s,"strict":false}`, "/description': "},
		{OpenAIChat, `{"type":"function","function":{"name":"a","parameters":%s,"strict":false,"defer_loading":true}}`, "defer_loading"},
		{OpenAIChat, `{"type":"function","function":{"name":"a","description":"` + strings.Repeat("é", 1024) + `","parameters":%s,"strict":false}}`, ""},
		{OpenAIChat, `{"type":"function","function":{"name":"a","description":"` + strings.Repeat("é", 1025) + `","parameters":%s,"strict":false}}`, "maxLength"},
		{Anthropic, `{"name":"` + strings.Repeat("a", 128) + `","input_schema":%s}`, ""},
		{Anthropic, `{"name":"` + strings.Repeat("a", 129) + `","input_schema":%s}`, "/name': "},
		{Anthropic, `{"name":"` + strings.Repeat("a", 65) + `","input_schema":%s,"defer_loading":true}`, "{1,64}"},
		{Anthropic, `{"name":"a/b","input_schema":%s}`, "/name': "},
		{Anthropic, `{"name":"a","inputSchema":%s}`, "inputSchema"},
		{Anthropic, `{"name":"a","input_schema":%s,"strict":true}`, "strict"},
		{Gemini, `{"name":"1a","parametersJsonSchema":%s}`, "/name': "},
		{Gemini, `{"name":"_a.b-c","parametersJsonSchema":%s}`, ""},
		{Gemini, `{"name":"a","parameters":%s}`, "parameters"},
		{Bedrock, `{"toolSpec":{"name":"a","description":" ","inputSchema":{"json":%s}}}`, "/description': "},
		{Bedrock, `{"toolSpec":{"name":"a","inputSchema":%s}}`, "json"},
		{Bedrock, `{"toolSpec":{"name":"","inputSchema":{"json":%s}}}`, "/name': "},
		{Ollama, `{"type":"function","function":{"name":"a b","parameters":%s}}`, "/name': "},
		{Ollama, `{"type":"function","function":{"name":"a","parameters":[%s]}}`, "array"},
		{Ollama, `{"function":{"name":"a","parameters":%s}}`, "'type'"},
	} {
		got := strings.Join(test.check(fmt.Appendf(nil, test.form, empty)), "\n")
		assert.True(t, (got == "") == (test.want == "") && strings.Contains(got, test.want), "%.200s: %q, want %q", test.form, got, test.want)
	}
}

// Strict mode counts over the whole schema.
func TestCheckerCountsStrict(t *testing.T) {
	object := func(properties []string) string {
		names := make([]string, len(properties))
		for i, p := range properties {
			names[i], _, _ = strings.Cut(p, ":")
		}
		return `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(names, ",") + `]}`
	}
	many := func(n int, schema string) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf(`"p%d":%s`, i, schema))
		}
		return list
	}
	enum := func(n, length int) string {
		var values []string
		for i := range n {
			values = append(values, fmt.Sprintf(`"%0*d"`, length, i))
		}
		return `{"type":"string","enum":[` + strings.Join(values, ",") + `]}`
	}
	for _, test := range []struct{ schema, want string }{
		{object(many(5000, `{"type":"string"}`)), ""},
		{object(many(5001, `{"type":"string"}`)), "5001 properties"},
		{object(many(2, enum(500, 3))), ""},
		{object(many(3, enum(400, 3))), "1200 values"},
		{object(many(1, enum(250, 61))), ""},
		{object(many(1, enum(251, 60))), "an enum of 251 values"},
		{object(many(3, enum(200, 201))), "characters in names"},
		{`{"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#"}},"required":["a"]}`, ""},
	} {
		got := strings.Join(OpenAI(fmt.Appendf(nil, declare()["strict"].form, test.schema)), "\n")
		assert.True(t, (got == "") == (test.want == "") && strings.Contains(got, test.want), "%.100s: %.300q, want %q", test.schema, got, test.want)
	}
}

// The verdicts are those of Python 3.12, but for lookaround, which it knows.
func TestCheckerKnowsPython(t *testing.T) {
	for pattern, ok := range map[string]bool{
		``: true, `^[a-z]+$`: true, `\d{4}-\d\d`: true, `a|(?:b)`: true, `(?P<y>\d)`: true, `(?i)x`: true, `(?i:x)y`: true,
		`[\w.-]`: true, `[-\w]`: true, `[]a]`: true, `[^]]`: true, `\x41`: true, `\u00e9`: true, `\.\/\-`: true, `[\b]`: true,
		`(?=a)`: false, `(?!a)b`: false, `(?<=a)b`: false, `(?<!a)b`: false, `\p{L}`: false, `[\p{L}]`: false, `(?<y>a)`: false,
		`[\w-.]`: false, `[a-\d]`: false, `\x{41}`: false, `\x4`: false, `\z`: false, `a(?i)b`: false, `\Qa\E`: false, `[\A]`: false,
		`(?U)a`: false, `\`: false, `[a`: false, `\h`: false,
	} {
		problem := pythonProblem(pattern)
		assert.True(t, (problem == "") == ok, "%q: %q", pattern, problem)
	}
}
