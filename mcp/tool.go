package mcp

import (
	"bytes"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/paramheader"
)

// A Tool is a tool as its server describes it. Its fields, but for Raw, are those of the
// official SDK's type of this name, with schemas as JSON.
type Tool struct {
	// Name is what the tool is called by at its server.
	Name string `json:"name"`
	// Title is a name for people; empty if there is none.
	Title string `json:"title,omitempty"`
	// Description tells the model what the tool does.
	Description string `json:"description,omitempty"`
	// InputSchema is the JSON Schema of the arguments as the server sent it, byte for
	// byte; nil if there is none.
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// OutputSchema is that of the structured content.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Annotations are hints about the tool; nil if there are none.
	Annotations *ToolAnnotations `json:"annotations,omitempty"`
	// Icons are pictures of the tool, but only those at an https or data address.
	Icons []sdk.Icon `json:"icons,omitempty"`
	// Meta is the metadata of the tool.
	Meta Meta `json:"_meta,omitempty"`

	// Raw is the whole description as the server sent it, byte for byte, with what the
	// other fields have no place for; nil if it is not known. In memory the schemas are
	// parts of it.
	Raw json.RawMessage `json:"-"`

	tasks taskSupport // whether a call can be a task of revision 2025-11-25
}

// taskSupport says whether a call of a tool can be a task.
type taskSupport uint8

const (
	taskForbidden taskSupport = iota
	taskOptional
	taskRequired
)

// UnmarshalJSON decodes a tool as [Client.Tools] does, and keeps a copy of the JSON in
// Raw. It fails with a [*ProtocolError] if there is no name, or if the name, the description or
// the input schema is of another type than the protocol says. Another member that is so is left
// out, and Raw is nil then.
func (t *Tool) UnmarshalJSON(data []byte) error {
	if err := jsonscan.Valid(data); err != nil {
		return at("tool", err)
	}
	decoded, err := decodeTool(bytes.Clone(data), false)
	if err == nil {
		*t = *decoded
	}
	return at("tool", err)
}

// decodeTool decodes a tool. A flaw in what is optional does not cost the tool. To revision 2026-07-28 one is invalid whose schema
// asks for header fields in a way that the protocol does not allow.
func decodeTool(raw []byte, modern bool) (*Tool, error) {
	if !isObject(raw) {
		return nil, wrongKind(raw, anObject)
	}
	t := &Tool{Raw: raw}
	for key, value := range jsonscan.Fields(raw) {
		var err, flaw error // flaw: in what a tool can do without
		switch string(key) {
		case "name":
			err = decodeString(&t.Name, value)
		case "title":
			flaw = decodeString(&t.Title, value)
		case "description":
			err = decodeString(&t.Description, value)
		case "inputSchema":
			if isEmptyList(value) { // as PHP writes an empty object
				t.Raw = nil
				continue
			}
			t.InputSchema, err = decodeSchema(value)
		case "outputSchema":
			t.OutputSchema, flaw = decodeSchema(value)
		case "annotations":
			flaw = optional(&t.Annotations, value)
		case "execution":
			switch support, _ := jsonscan.Text(jsonscan.Member(value, "taskSupport")); string(support) {
			case "optional":
				t.tasks = taskOptional
			case "required":
				t.tasks = taskRequired
			}
		case "icons":
			t.Icons, flaw = decodeIcons(value)
		case "_meta":
			flaw = optional(&t.Meta, value)
		}
		if flaw != nil {
			t.Raw = nil // it is not handed on
		}
		if err != nil {
			return nil, at(string(key), err)
		}
	}
	if t.Name == "" {
		return nil, at("name", errMissing)
	}
	if modern {
		if _, err := paramheader.Find(t.InputSchema); err != nil {
			return nil, at("inputSchema", err)
		}
	}
	return t, nil
}

func isEmptyList(value []byte) bool {
	for range jsonscan.Elements(value) {
		return false
	}
	return value[0] == '['
}

// decodeSchema keeps a schema as it is. Null stands for no schema.
func decodeSchema(value []byte) (json.RawMessage, error) {
	switch {
	case isNull(value):
		return nil, nil
	case value[0] != '{' && value[0] != 't' && value[0] != 'f':
		return nil, wrongKind(value, "a JSON Schema")
	}
	return value, nil
}
