package profile

import (
	"encoding/json"
	"unicode/utf8"
)

// Declaration returns the tool as it stands in the list of tools of a request, as
// JSON: a FunctionTool of OpenAI's Responses API, a Tool of Anthropic's Messages
// API, a FunctionDeclaration of Gemini, a Tool of Bedrock Converse, or a Tool of
// Ollama. It is the same each time.
func (t *Tool) Declaration() json.RawMessage {
	schema := member{"parameters", rawNode(t.Schema)}
	o := objectNode()
	switch t.provider {
	case OpenAI, OpenAIStrict:
		o.set("type", textNode("function"))
		t.describe(o, t.Description)
		o.members = append(o.members, schema, member{"strict", boolNode(t.Strict)})
		t.load(o)
		if t.OutputSchema != nil {
			o.set("output_schema", rawNode(t.OutputSchema))
		}
	case Anthropic:
		t.describe(o, t.Description)
		o.set("input_schema", schema.value)
		t.load(o)
	case Gemini:
		t.describe(o, t.Description)
		if string(t.Schema) != `{"type":"object","properties":{}}` { // else it has no parameters
			o.set("parametersJsonSchema", schema.value)
		}
	case Bedrock:
		t.describe(o, t.Description)
		o.set("inputSchema", objectNode(member{"json", schema.value}))
		o = objectNode(member{"toolSpec", o})
	case Ollama:
		t.describe(o, t.Description)
		o.members = append(o.members, schema)
		o = objectNode(member{"type", textNode("function")}, member{"function", o})
	}
	return o.append(nil)
}

// ChatDeclaration returns the tool as it stands in a request of OpenAI's Chat
// Completions API, and of those who copy it. The description has at most 1,024
// characters there. For providers other than [OpenAI] and [OpenAIStrict] it is the
// same as [Tool.Declaration].
func (t *Tool) ChatDeclaration() json.RawMessage {
	if t.provider != OpenAI && t.provider != OpenAIStrict {
		return t.Declaration()
	}
	o := objectNode()
	t.describe(o, t.ChatDescription())
	o.members = append(o.members, member{"parameters", rawNode(t.Schema)}, member{"strict", boolNode(t.Strict)})
	return objectNode(member{"type", textNode("function")}, member{"function", o}).append(nil)
}

// ChatDescription returns the description as it stands in [Tool.ChatDeclaration].
func (t *Tool) ChatDescription() string {
	d, _ := rulesOf(t.provider)
	if d.chatDescription == 0 {
		return t.Description
	}
	return cutText(t.Description, d.chatDescription)
}

func (t *Tool) describe(o *node, description string) {
	o.set("name", textNode(t.Name))
	if description != "" {
		o.set("description", textNode(description))
	}
}

// load says when the model gets to know the tool, and who calls it.
func (t *Tool) load(o *node) {
	if t.Deferred {
		o.set("defer_loading", boolNode(true))
	}
	if len(t.AllowedCallers) > 0 {
		o.set("allowed_callers", textsNode(t.AllowedCallers))
	}
}

// rawNode returns a node that writes JSON as it is.
func rawNode(raw json.RawMessage) *node { return &node{kind: '0', text: string(raw)} }

// cutText cuts text to at most so many characters, with a mark at the end.
func cutText(text string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
