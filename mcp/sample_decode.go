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
	var metadata json.RawMessage
	if !isObject(raw) {
		return params, nil
	}
	err := decodeObject(raw,
		field{name: "messages", into: arrayOf(&params.Messages, decodeSampleMessage)},
		field{name: "maxTokens", into: &params.MaxTokens},
		field{name: "systemPrompt", into: &params.SystemPrompt},
		field{name: "includeContext", into: &params.IncludeContext},
		field{name: "temperature", into: &params.Temperature},
		field{name: "stopSequences", into: arrayOf(&params.StopSequences, func(raw []byte) (string, error) { return decodeAs[string](nil, raw) })},
		field{name: "metadata", into: &metadata},
		field{name: "modelPreferences", into: &params.ModelPreferences},
		// That there is a list is told apart from that there is none.
		field{name: "tools", into: arrayOf(&params.Tools, func(raw []byte) (*Tool, error) { return decodeTool(raw, false) })},
		field{name: "toolChoice", into: func(value []byte) error {
			if isNull(value) {
				return nil
			}
			params.ToolChoice = &ToolChoice{}
			return decodeObject(value, field{name: "mode", into: &params.ToolChoice.Mode})
		}},
		field{name: "_meta", into: &params.Meta},
	)
	if metadata != nil {
		params.Metadata = metadata
	}
	return decoded(params, err)
}

func decodeSampleMessage(raw []byte) (*SamplingMessage, error) {
	m := &SamplingMessage{}
	err := decodeObject(raw,
		field{name: "role", into: word(&m.Role)},
		field{name: "content", into: func(value []byte) error {
			if value[0] == '[' {
				return arrayOf(&m.Content, decodeSampleContent)(value)
			}
			content, err := decodeSampleContent(value)
			m.Content = []Content{content}
			return err
		}},
	)
	switch {
	case err != nil:
		return nil, err
	case m.Role != roleUser && m.Role != roleAssistant:
		return nil, at("role", errors.New("neither user nor assistant"))
	case len(m.Content) == 0:
		return nil, at("content", errMissing)
	}
	return m, nil
}

func decodeSampleContent(raw []byte) (Content, error) {
	if !isObject(raw) {
		return nil, wrongKind(raw, anObject)
	}
	kind, _ := jsonscan.String(memberOf(raw, "type"))
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
	err := decodeObject(raw,
		field{name: "id", into: &use.ID, need: true},
		field{name: "name", into: &use.Name, need: true},
		field{name: "input", into: func(value []byte) error {
			exact := json.NewDecoder(bytes.NewReader(value))
			exact.UseNumber()
			if !isObject(value) || exact.Decode(&use.Input) != nil {
				return wrongKind(value, anObject)
			}
			return nil
		}},
		field{name: "_meta", into: &use.Meta},
	)
	if err == nil && use.Input == nil {
		err = at("input", errMissing)
	}
	return decoded(use, err)
}

func decodeToolResult(raw []byte) (*ToolResultContent, error) {
	result := &ToolResultContent{}
	var structured json.RawMessage
	var failed bool
	err := decodeObject(raw,
		field{name: "toolUseId", into: &result.ToolUseID, need: true},
		field{name: "content", into: func(value []byte) (err error) {
			c := jsonscan.Walk(value)
			result.Content, err = decodeContents(&c, nil)
			return err
		}},
		field{name: "structuredContent", into: &structured},
		field{name: "isError", into: &result.IsError},
		field{name: "is_error", into: &failed}, // as some servers write it
		field{name: "_meta", into: &result.Meta},
	)
	result.IsError = result.IsError || failed
	if structured != nil {
		result.StructuredContent = structured
	}
	return decoded(result, err)
}
