package mcp

//lint:file-ignore SA1019 Sampling is deprecated since revision 2026-07-28, and works.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// maxSampleRounds bounds the rounds of tool use in one conversation that a server leads with
// the model.
const maxSampleRounds = 10

// codeRejected answers a request that the user rejected.
const codeRejected = -1

const (
	roleUser      Role = "user"
	roleAssistant Role = "assistant"
)

// Modes of a choice of tools.
const (
	toolsAuto     = "auto"
	toolsRequired = "required"
	toolsNone     = "none"
)

// sample asks the model, and checks the conversation before and the answer after.
func (s *shared) sample(ctx context.Context, raw json.RawMessage, of *asked) (json.RawMessage, error) {
	params, err := decodeSample(raw)
	if err != nil {
		return nil, at("params", err)
	}
	if err := s.mayTake(params); err != nil {
		return nil, err
	}
	// The handler may do with its request what it likes.
	tools, mode := len(params.Tools) > 0, choiceOf(params)
	req := &SampleRequest{Server: s.name, Params: params, RawRequest: RawRequest{Raw: raw}}
	req.Caused, req.Tool = of.cause()
	res, err := s.opts.Sample(ctx, req)
	switch {
	case errors.Is(err, ErrRejected):
		return nil, fmt.Errorf("%w: %w", ErrRejected, &JSONRPCError{Code: codeRejected, Message: "User rejected sampling request"})
	case err != nil || req.answer != nil:
		return req.answer, err
	}
	answer, err := sampled(res, tools, mode)
	if err != nil {
		return nil, fmt.Errorf("the answer of Sample %w", err)
	}
	return json.Marshal(answer)
}

// mayTake reports what of a conversation is against the protocol, or more than
// this client grants.
func (s *shared) mayTake(params *SampleParams) error {
	switch {
	case params.MaxTokens <= 0:
		return refused("maxTokens must be more than 0")
	case len(params.Messages) == 0:
		return refused("there are no messages")
	case (params.Tools != nil || params.ToolChoice != nil) && !s.opts.SampleTools:
		return refused("tools in sampling were not declared")
	}
	switch mode := choiceOf(params); mode {
	case toolsAuto, toolsNone:
	case toolsRequired:
		if len(params.Tools) == 0 {
			return refused("a tool is required, and there are no tools")
		}
	default:
		return refused("toolChoice has the unknown mode %.40q", mode)
	}
	rounds, err := toolRounds(params.Messages)
	switch {
	case err != nil:
		return err
	case rounds > 0 && !s.opts.SampleTools:
		return refused("tools in sampling were not declared")
	case rounds > maxSampleRounds && choiceOf(params) != toolsNone:
		return refused("more than %d rounds of tool use; go on with toolChoice none", maxSampleRounds)
	}
	return nil
}

func choiceOf(params *SampleParams) string {
	if params.ToolChoice == nil || params.ToolChoice.Mode == "" {
		return toolsAuto
	}
	return params.ToolChoice.Mode
}

// toolRounds counts the messages in which the model uses tools. Each must be
// answered by the next message, which holds the results and nothing else.
func toolRounds(messages []*SamplingMessage) (rounds int, err error) {
	var open map[string]bool // uses that the next message must answer
	for i, m := range messages {
		uses, results, others := map[string]bool{}, map[string]bool{}, false
		for _, content := range m.Content {
			twice := false
			switch content := content.(type) {
			case *ToolUseContent:
				twice = uses[content.ID]
				uses[content.ID] = true
			case *ToolResultContent:
				twice = results[content.ToolUseID]
				results[content.ToolUseID] = true
			default:
				others = true
			}
			if twice {
				return 0, refused("messages[%d]: two tool uses or results have the same id", i)
			}
		}
		switch {
		case len(uses) > 0 && m.Role != roleAssistant:
			return 0, refused("messages[%d]: only the assistant uses tools", i)
		case len(results) > 0 && m.Role != roleUser:
			return 0, refused("messages[%d]: only the user has tool results", i)
		case len(results) > 0 && others:
			return 0, refused("messages[%d]: tool results are mixed with other content", i)
		}
		for id := range open {
			if !results[id] {
				return 0, refused("messages[%d]: tool result missing in request", i)
			}
		}
		if len(results) > len(open) {
			return 0, refused("messages[%d]: tool result for no tool use of the message before", i)
		}
		if open = uses; len(uses) > 0 {
			rounds++
		}
	}
	if len(open) > 0 {
		return 0, refused("tool result missing in request")
	}
	return rounds, nil
}

// sampled returns the answer of a handler as the server may have it. Errors go on
// after the name of the answer.
func sampled(res *SampleResult, tools bool, mode string) (*SampleResult, error) {
	if res == nil {
		return nil, errors.New("is missing")
	}
	answer := *res
	answer.Role = cmp.Or(answer.Role, roleAssistant)
	answer.Model = cmp.Or(answer.Model, "unknown")
	switch {
	case answer.Role != roleAssistant:
		return nil, fmt.Errorf("has the role %q, must have %q", answer.Role, roleAssistant)
	case len(answer.Content) == 0:
		return nil, errors.New("has no content")
	}
	uses := map[string]bool{}
	for _, content := range answer.Content {
		switch content := content.(type) {
		case *TextContent, *ImageContent, *AudioContent:
		case *ToolUseContent:
			if content.ID == "" || content.Name == "" || uses[content.ID] {
				return nil, errors.New("has tool uses without a name or an id of their own")
			}
			uses[content.ID] = true
		default:
			return nil, fmt.Errorf("has content of type %T", content)
		}
	}
	switch {
	case len(uses) > 0 && (!tools || mode == toolsNone):
		return nil, errors.New("uses tools, which the server did not allow")
	case len(uses) == 0 && mode == toolsRequired:
		return nil, errors.New("uses no tool, which the server required")
	}
	return &answer, nil
}

// decodeSample decodes the parameters of sampling/createMessage.
func decodeSample(raw json.RawMessage) (*SampleParams, error) {
	params := &SampleParams{}
	var metadata json.RawMessage
	if !isObject(raw) {
		return params, nil
	}
	err := decodeObject(raw, append(fieldsOf(params, ""),
		field{name: "messages", into: arrayOf(&params.Messages, decodeSampleMessage)},
		field{name: "metadata", into: &metadata},
		field{name: "tools", into: arrayOf(&params.Tools, decodeSampleTool)}, // an empty list is told apart from none
	)...)
	if metadata != nil {
		params.Metadata = metadata
	}
	return decoded(params, err)
}

func decodeSampleMessage(raw []byte) (*SamplingMessage, error) {
	m := &SamplingMessage{}
	err := decodeObject(raw,
		field{name: "role", into: (*string)(&m.Role)},
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
	kind, _ := jsonscan.String(jsonscan.Member(raw, "type"))
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
		field{name: "input", into: &use.Input},
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

// decodeSampleTool decodes a tool of a conversation, which holds those of the SDK.
func decodeSampleTool(raw []byte) (*sdk.Tool, error) {
	t, err := decodeTool(raw, false)
	if err != nil {
		return nil, err
	}
	tool := &sdk.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, Annotations: t.Annotations, Icons: t.Icons, Meta: t.Meta}
	if t.OutputSchema != nil { // or there would be one that is null
		tool.OutputSchema = t.OutputSchema
	}
	return tool, nil
}
