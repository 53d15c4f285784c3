package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// decodeSample decodes the parameters of sampling/createMessage.
func decodeSample(raw json.RawMessage) (*SampleParams, error) {
	params := &SampleParams{}
	for key, value := range jsonscan.Fields(raw) {
		if string(value) == "null" {
			continue
		}
		var err error
		switch string(key) {
		case "messages":
			params.Messages, err = decodeSampleMessages(value)
		case "maxTokens":
			params.MaxTokens, err = decodeInteger(key, value)
		case "systemPrompt":
			err = decodeString(&params.SystemPrompt, key, value)
		case "includeContext":
			err = decodeString(&params.IncludeContext, key, value)
		case "temperature":
			params.Temperature, err = decodeAs[float64](key, value)
		case "stopSequences":
			params.StopSequences, err = decodeAs[[]string](key, value)
		case "metadata":
			params.Metadata = json.RawMessage(value)
		case "modelPreferences":
			params.ModelPreferences, err = decodeAs[*ModelPreferences](key, value)
		case "tools":
			params.Tools, err = decodeSampleTools(key, value)
		case "toolChoice":
			params.ToolChoice, err = decodeToolChoice(key, value)
		case "_meta":
			params.Meta, err = decodeAs[Meta](key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return params, nil
}

func decodeSampleMessages(raw []byte) ([]*SamplingMessage, error) {
	if raw[0] != '[' {
		return nil, at("messages", errors.New("not an array"))
	}
	var messages []*SamplingMessage
	for value := range jsonscan.Elements(raw) {
		m, err := decodeSampleMessage(value)
		if err != nil {
			return nil, at(fmt.Sprintf("messages[%d]", len(messages)), err)
		}
		messages = append(messages, m)
	}
	return messages, nil
}

func decodeSampleMessage(raw []byte) (*SamplingMessage, error) {
	if raw[0] != '{' {
		return nil, errNotObject
	}
	m := &SamplingMessage{}
	for key, value := range jsonscan.Fields(raw) {
		var err error
		switch string(key) {
		case "role":
			var role string
			err = decodeString(&role, key, value)
			m.Role = Role(role)
		case "content":
			m.Content, err = decodeSampleContents(value)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case m.Role != roleUser && m.Role != roleAssistant:
		return nil, at("role", errors.New("neither user nor assistant"))
	case len(m.Content) == 0:
		return nil, at("content", errors.New("missing"))
	}
	return m, nil
}

// decodeSampleContents decodes one block of content or an array of them.
func decodeSampleContents(raw []byte) ([]Content, error) {
	if raw[0] != '[' {
		content, err := decodeSampleContent(raw)
		return []Content{content}, at("content", err)
	}
	var contents []Content
	for value := range jsonscan.Elements(raw) {
		content, err := decodeSampleContent(value)
		if err != nil {
			return nil, at(fmt.Sprintf("content[%d]", len(contents)), err)
		}
		contents = append(contents, content)
	}
	return contents, nil
}

func decodeSampleContent(raw []byte) (Content, error) {
	if raw[0] != '{' {
		return nil, errNotObject
	}
	var kind string
	for key, value := range jsonscan.Fields(raw) {
		if string(key) == "type" {
			kind, _ = jsonscan.String(value)
		}
	}
	switch kind {
	case "text", "image", "audio":
		c := jsonscan.Walk(raw)
		return decodeContent(&c)
	case "tool_use":
		return decodeToolUse(raw)
	case "tool_result":
		return decodeToolResult(raw)
	}
	return nil, at("type", fmt.Errorf("%.40q has no place in sampling", kind))
}

func decodeToolUse(raw []byte) (*ToolUseContent, error) {
	use := &ToolUseContent{}
	for key, value := range jsonscan.Fields(raw) {
		var err error
		switch string(key) {
		case "id":
			err = decodeString(&use.ID, key, value)
		case "name":
			err = decodeString(&use.Name, key, value)
		case "input":
			if value[0] != '{' {
				return nil, at("input", errNotObject)
			}
			exact := json.NewDecoder(bytes.NewReader(value))
			exact.UseNumber()
			if exact.Decode(&use.Input) != nil {
				err = at("input", errNotObject)
			}
		case "_meta":
			use.Meta, err = decodeAs[Meta](key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case use.ID == "":
		return nil, at("id", errors.New("missing"))
	case use.Name == "":
		return nil, at("name", errors.New("missing"))
	case use.Input == nil:
		return nil, at("input", errors.New("missing"))
	}
	return use, nil
}

func decodeToolResult(raw []byte) (*ToolResultContent, error) {
	result := &ToolResultContent{}
	for key, value := range jsonscan.Fields(raw) {
		var err error
		switch string(key) {
		case "toolUseId":
			err = decodeString(&result.ToolUseID, key, value)
		case "content":
			c := jsonscan.Walk(value)
			result.Content, err = decodeContents(&c, nil)
		case "structuredContent":
			if string(value) != "null" {
				result.StructuredContent = json.RawMessage(value)
			}
		case "isError", "is_error":
			var failed bool
			failed, err = decodeBool(key, value)
			result.IsError = result.IsError || failed
		case "_meta":
			result.Meta, err = decodeAs[Meta](key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if result.ToolUseID == "" {
		return nil, at("toolUseId", errors.New("missing"))
	}
	return result, nil
}

// decodeSampleTools decodes the tools of a conversation. That there is a list is
// told apart from that there is none.
func decodeSampleTools(key, raw []byte) ([]*Tool, error) {
	if raw[0] != '[' {
		return nil, at(string(key), errors.New("not an array"))
	}
	tools := []*Tool{}
	for value := range jsonscan.Elements(raw) {
		tool, err := decodeTool(value, false)
		if err != nil {
			return nil, at(fmt.Sprintf("tools[%d]", len(tools)), err)
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

func decodeToolChoice(key, raw []byte) (*ToolChoice, error) {
	if raw[0] != '{' {
		return nil, at(string(key), errNotObject)
	}
	choice := &ToolChoice{}
	for name, value := range jsonscan.Fields(raw) {
		if string(name) == "mode" {
			if err := decodeString(&choice.Mode, name, value); err != nil {
				return nil, at(string(key), err)
			}
		}
	}
	return choice, nil
}
