package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A view is what matters of a block for those behind it.
type view struct {
	call   *profile.Call // of the program
	caller string        // the id of the program of the model that makes the call
	begins string        // the id of a call that the API makes itself
	ends   string        // the id of the call of which the block is the result
	result bool          // that of a call of the program
	over   bool          // another model takes over from the one before
	found  []string      // names of the tools that the model has found
	// thought says that the block is what the model thought.
	thought bool
	// empty says that the API does not take the block: it is a blank text, or a thought
	// without its signature, which was cut off.
	empty bool
}

// isEmpty reports whether a text, or a thought by its signature, is one that the API refuses.
func isEmpty(text *string) bool { return text != nil && strings.TrimSpace(*text) == "" }

func viewOf(b sdk.ContentBlockParamUnion) view {
	v := view{
		thought: b.OfThinking != nil || b.OfRedactedThinking != nil,
		empty:   b.OfText != nil && isEmpty(b.GetText()) || b.OfThinking != nil && isEmpty(b.GetSignature()),
	}
	if id := b.GetToolUseID(); id != nil {
		v.ends, v.result = *id, b.OfToolResult != nil
	}
	if use := b.OfToolUse; use != nil {
		v.call, v.caller = &profile.Call{ID: use.ID, Name: use.Name, Arguments: inputOf(use.Input)}, callerOf(use.Caller)
	}
	if b.OfServerToolUse != nil {
		v.begins = b.OfServerToolUse.ID
	}
	if b.OfToolSearchToolResult != nil && b.OfToolSearchToolResult.Content.OfRequestToolSearchToolSearchResultBlock != nil {
		for _, r := range b.OfToolSearchToolResult.Content.OfRequestToolSearchToolSearchResultBlock.ToolReferences {
			v.found = append(v.found, r.ToolName)
		}
	}
	return v
}

func betaViewOf(b sdk.BetaContentBlockParamUnion) view {
	v := view{
		over:    b.OfFallback != nil,
		thought: b.OfThinking != nil || b.OfRedactedThinking != nil,
		empty:   b.OfText != nil && isEmpty(b.GetText()) || b.OfThinking != nil && isEmpty(b.GetSignature()),
	}
	if id := b.GetToolUseID(); id != nil {
		v.ends, v.result = *id, b.OfToolResult != nil
	}
	if use := b.OfToolUse; use != nil {
		v.call, v.caller = &profile.Call{ID: use.ID, Name: use.Name, Arguments: inputOf(use.Input)}, callerOf(use.Caller)
	}
	switch {
	case b.OfServerToolUse != nil:
		v.begins = b.OfServerToolUse.ID
	case b.OfMCPToolUse != nil:
		v.begins = b.OfMCPToolUse.ID
	case b.OfToolSearchToolResult != nil && b.OfToolSearchToolResult.Content.OfRequestToolSearchToolSearchResultBlock != nil:
		for _, r := range b.OfToolSearchToolResult.Content.OfRequestToolSearchToolSearchResultBlock.ToolReferences {
			v.found = append(v.found, r.ToolName)
		}
	}
	return v
}

// callerOf returns the id of the program that makes a call; empty if it is the model. It
// reads the JSON, as the SDK keeps no more of it.
func callerOf(caller any) string {
	var is struct {
		ID string `json:"tool_id"`
	}
	if data, err := json.Marshal(caller); err == nil {
		_ = json.Unmarshal(data, &is)
	}
	return is.ID
}

// A form is one of the two in which the SDK has messages, and the blocks in them.
type form[M, B any] struct {
	role func(M) string
	// content returns the blocks of a message of the user or the model, not of the system.
	content func(M) []B
	// with returns a message with other content. The one that is given, to which others
	// may point, stays as it is.
	with func(M, []B) M
	look func(B) view
	// called returns a call, or a result, as another call has it.
	called func(B, profile.Call) B
	// user returns a message of the user.
	user func(...B) M
	// failure returns the result of a call that failed.
	failure func(id, text string) B
}

const (
	user      = "user"
	assistant = "assistant"
)

func roleOf[M interface{ GetRole() *string }](m M) string { return *cmp.Or(m.GetRole(), new("")) }

func plain() *form[sdk.MessageParam, sdk.ContentBlockParamUnion] {
	return &form[sdk.MessageParam, sdk.ContentBlockParamUnion]{
		role: roleOf[sdk.MessageParam],
		content: func(m sdk.MessageParam) []sdk.ContentBlockParamUnion {
			if content, ok := m.GetContent().AsAny().(*[]sdk.ContentBlockParamUnion); ok {
				return *content
			}
			return nil
		},
		with: func(m sdk.MessageParam, content []sdk.ContentBlockParamUnion) sdk.MessageParam {
			if m.OfUser != nil {
				is := *m.OfUser
				is.Content, m.OfUser = content, &is
			}
			if m.OfAssistant != nil {
				is := *m.OfAssistant
				is.Content, m.OfAssistant = content, &is
			}
			return m
		},
		look: viewOf,
		called: func(b sdk.ContentBlockParamUnion, c profile.Call) sdk.ContentBlockParamUnion {
			switch {
			case b.OfToolUse != nil:
				b.OfToolUse = new(*b.OfToolUse)
				b.OfToolUse.ID, b.OfToolUse.Name, b.OfToolUse.Input = c.ID, c.Name, c.Arguments
			case b.OfToolResult != nil:
				b.OfToolResult = new(*b.OfToolResult)
				b.OfToolResult.ToolUseID = c.ID
			}
			return b
		},
		user:    sdk.NewUserMessage,
		failure: func(id, text string) sdk.ContentBlockParamUnion { return sdk.NewToolResultBlock(id, text, true) },
	}
}

func beta() *form[sdk.BetaMessageParam, sdk.BetaContentBlockParamUnion] {
	return &form[sdk.BetaMessageParam, sdk.BetaContentBlockParamUnion]{
		role: roleOf[sdk.BetaMessageParam],
		content: func(m sdk.BetaMessageParam) []sdk.BetaContentBlockParamUnion {
			if content, ok := m.GetContent().AsAny().(*[]sdk.BetaContentBlockParamUnion); ok {
				return *content
			}
			return nil
		},
		with: func(m sdk.BetaMessageParam, content []sdk.BetaContentBlockParamUnion) sdk.BetaMessageParam {
			if m.OfUser != nil {
				is := *m.OfUser
				is.Content, m.OfUser = content, &is
			}
			if m.OfAssistant != nil {
				is := *m.OfAssistant
				is.Content, m.OfAssistant = content, &is
			}
			return m
		},
		look: betaViewOf,
		called: func(b sdk.BetaContentBlockParamUnion, c profile.Call) sdk.BetaContentBlockParamUnion {
			switch {
			case b.OfToolUse != nil:
				b.OfToolUse = new(*b.OfToolUse)
				b.OfToolUse.ID, b.OfToolUse.Name, b.OfToolUse.Input = c.ID, c.Name, c.Arguments
			case b.OfToolResult != nil:
				b.OfToolResult = new(*b.OfToolResult)
				b.OfToolResult.ToolUseID = c.ID
			}
			return b
		},
		user: sdk.NewBetaUserMessage,
		failure: func(id, text string) sdk.BetaContentBlockParamUnion {
			return sdk.NewBetaToolResultBlock(id, text, true)
		},
	}
}

// finished returns content without the calls that the API makes itself and has not come to
// the end of: it has paused there, and takes nothing but the same again, or the limit of
// tokens has come. A program that waits for results of ours stays.
func (f *form[M, B]) finished(content []B) []B {
	known := map[string]bool{}
	for _, b := range content {
		v := f.look(b)
		known[v.ends], known[v.caller] = true, true
	}
	return slices.DeleteFunc(slices.Clone(content), func(b B) bool {
		id := f.look(b).begins
		return id != "" && !known[id]
	})
}

// over returns where the content of the last of several models begins: the calls of one that
// another has taken over from need no result.
func (f *form[M, B]) over(content []B) int {
	for i, b := range slices.Backward(content) {
		if f.look(b).over {
			return i
		}
	}
	return 0
}

// sendable returns what a model wrote as the API takes it back.
func (f *form[M, B]) sendable(content []B) []B {
	return profile.Sendable(content, func(b B) (thought, empty bool) { v := f.look(b); return v.thought, v.empty })
}

// inputOf returns the arguments of a call.
func inputOf(input any) json.RawMessage {
	data, err := json.Marshal(input)
	if err != nil {
		return nil
	}
	return data
}
