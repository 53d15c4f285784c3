package providercheck

import "encoding/json"

// The rules of Ollama are the types that its server decodes requests into
// (github.com/ollama/ollama/api, v0.17.4). There is none for names; the one here is
// what tool calls are written with everywhere.

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
	_, problems := Follow("ollama", declaration)
	if err := json.Unmarshal(declaration, &ollamaTool{}); err != nil {
		problems = append(problems, err.Error())
	}
	return problems
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
