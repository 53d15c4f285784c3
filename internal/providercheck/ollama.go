package providercheck

import (
	"encoding/json"
	"regexp"
)

// The rules of Ollama are the types that its server decodes requests into
// (github.com/ollama/ollama/api, v0.17.4). There is none for names; the one here is
// what tool calls are written with everywhere.

// OllamaName matches the names of functions.
var OllamaName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// The types that the server decodes a tool into, as its api package has them in
// v0.17.4: what does not fit is an error for the request, and what has no field is
// gone.
type (
	ollamaTool struct {
		Type     string         `json:"type"`
		Items    any            `json:"items,omitempty"`
		Function ollamaFunction `json:"function"`
	}
	ollamaFunction struct {
		Name        string           `json:"name"`
		Description string           `json:"description,omitempty"`
		Parameters  ollamaParameters `json:"parameters"`
	}
	ollamaParameters struct {
		Type       string                    `json:"type"`
		Defs       any                       `json:"$defs,omitempty"`
		Items      any                       `json:"items,omitempty"`
		Required   []string                  `json:"required,omitempty"`
		Properties map[string]ollamaProperty `json:"properties"`
	}
	ollamaProperty struct {
		AnyOf       []ollamaProperty          `json:"anyOf,omitempty"`
		Type        ollamaType                `json:"type,omitempty"`
		Items       any                       `json:"items,omitempty"`
		Description string                    `json:"description,omitempty"`
		Enum        []any                     `json:"enum,omitempty"`
		Properties  map[string]ollamaProperty `json:"properties,omitempty"`
	}
	ollamaType []string
)

func (t *ollamaType) UnmarshalJSON(data []byte) error {
	var name string
	if err := json.Unmarshal(data, &name); err == nil {
		*t = ollamaType{name}
		return nil
	}
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return err
	}
	*t = names
	return nil
}

func (t ollamaType) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// Ollama returns what the server would refuse.
func Ollama(declaration []byte) []string {
	v := &violations{}
	n := v.readDeclaration(declaration)
	if n == nil {
		return v.list
	}
	v.only("", n, "type", "function")
	v.only("/function", n.Get("function"), "name", "description", "parameters")
	var tool ollamaTool
	if err := json.Unmarshal(declaration, &tool); err != nil {
		v.add("", "%v", err)
		return v.list
	}
	if tool.Type != "function" {
		v.add("/type", "not a function")
	}
	if !OllamaName.MatchString(tool.Function.Name) {
		v.add("/function/name", "not a name")
	}
	v.checkText("/function/description", n.Get("function").Get("description"))
	if tool.Function.Parameters.Type != "object" {
		v.add("/function/parameters", "the type of the whole is not object")
	}
	if tool.Function.Parameters.Properties == nil {
		v.add("/function/parameters", "no properties")
	}
	v.checkKinds("/function/parameters", tool.Function.Parameters.Properties)
	return v.list
}

// checkKinds adds unknown types that a template would print.
func (v *violations) checkKinds(place string, properties map[string]ollamaProperty) {
	for name, p := range properties {
		at := Member(place, name)
		for _, t := range p.Type {
			switch t {
			case "string", "number", "integer", "boolean", "object", "array", "null":
			default:
				v.add(at, "type %q", t)
			}
		}
		if p.Enum != nil && len(p.Enum) == 0 {
			v.add(at, "enum of nothing")
		}
		v.checkKinds(at, p.Properties)
		for i, branch := range p.AnyOf {
			v.checkKinds(at, map[string]ollamaProperty{Element("anyOf", i): branch})
		}
	}
}

// SeenByOllama returns the part of a schema that the model is shown.
func SeenByOllama(declaration []byte) (*Node, error) {
	var tool ollamaTool
	if err := json.Unmarshal(declaration, &tool); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(tool.Function.Parameters)
	if err != nil {
		return nil, err
	}
	return Read(raw)
}
