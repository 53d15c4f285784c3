package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

const pdf = "application/pdf"

// Results returns the answers to all calls of a message as the message for the next
// request, such as those that [profile.Turn.Wait] has returned; nil if there are none.
// The API wants all of them in one message, in front of anything else.
func (t *Turn) Results(answers ...profile.Answer) []sdk.MessageParam {
	if len(answers) == 0 {
		return nil
	}
	var blocks []sdk.ContentBlockParamUnion
	for _, a := range answers {
		parts, failed := t.told(a.Result)
		result := &sdk.ToolResultBlockParam{ToolUseID: a.Call.ID}
		if failed {
			result.IsError = sdk.Bool(true)
		}
		for _, p := range parts {
			result.Content = append(result.Content, block(p))
		}
		blocks = append(blocks, sdk.ContentBlockParamUnion{OfToolResult: result})
	}
	return []sdk.MessageParam{sdk.NewUserMessage(blocks...)}
}

// BetaResults is [Turn.Results] for the beta of the API.
func (t *Turn) BetaResults(answers ...profile.Answer) []sdk.BetaMessageParam {
	var messages []sdk.BetaMessageParam
	for _, m := range t.Results(answers...) {
		messages = append(messages, asBeta[sdk.BetaMessageParam](m))
	}
	return messages
}

// asBeta returns a value of the SDK's in the type that the beta has for the same JSON.
func asBeta[T param.ParamStruct, P param.InferPtr[T]](v any) (beta T) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &beta)
	}
	if err != nil {
		beta = param.Override[T, P](v)
	}
	return beta
}

// told returns what the model is told of a result, and whether is_error says that the
// tool failed. The API takes nothing but text beside that.
func (t *Turn) told(res *mcp.CallToolResult) (parts []profile.Part, failed bool) {
	parts = t.Set().Parts(res)
	if !res.IsError {
		return parts, false
	}
	if slices.ContainsFunc(parts, func(p profile.Part) bool { return p.Data != nil }) {
		return append([]profile.Part{{Text: profile.Failure}}, parts...), false
	}
	return parts, true
}

func block(p profile.Part) sdk.ToolResultBlockParamContentUnion {
	data := base64.StdEncoding.EncodeToString(p.Data)
	switch {
	case p.Data == nil:
		return sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: p.Text}}
	case p.Type == pdf:
		return sdk.ToolResultBlockParamContentUnion{OfDocument: &sdk.DocumentBlockParam{
			Source: sdk.DocumentBlockParamSourceUnion{OfBase64: &sdk.Base64PDFSourceParam{Data: data}},
		}}
	default:
		return sdk.ToolResultBlockParamContentUnion{OfImage: &sdk.ImageBlockParam{
			Source: sdk.ImageBlockParamSourceUnion{OfBase64: &sdk.Base64ImageSourceParam{Data: data, MediaType: sdk.Base64ImageSourceMediaType(p.Type)}},
		}}
	}
}

func betaBlocks(parts []profile.Part) []sdk.BetaToolResultBlockParamContentUnion {
	var blocks []sdk.BetaToolResultBlockParamContentUnion
	for _, p := range parts {
		blocks = append(blocks, asBeta[sdk.BetaToolResultBlockParamContentUnion](block(p)))
	}
	return blocks
}
