package anthropic

import (
	"encoding/json"
	"regexp"
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
}

func viewOf(b sdk.ContentBlockParamUnion) view {
	var v view
	if id := b.GetToolUseID(); id != nil {
		v.ends, v.result = *id, b.OfToolResult != nil
	}
	if use := b.OfToolUse; use != nil {
		v.call, v.caller = &profile.Call{ID: use.ID, Name: use.Name}, callerOf(use.Caller)
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
	v := view{over: b.OfFallback != nil}
	if id := b.GetToolUseID(); id != nil {
		v.ends, v.result = *id, b.OfToolResult != nil
	}
	if use := b.OfToolUse; use != nil {
		v.call, v.caller = &profile.Call{ID: use.ID, Name: use.Name}, callerOf(use.Caller)
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
	// right returns a block of a model as the API takes it back, and false for none.
	right func(B) (B, bool)
	// failure returns the result of a call that failed.
	failure func(id, text string) B
}

const (
	user      = "user"
	assistant = "assistant"
)

func plain() *form[sdk.MessageParam, sdk.ContentBlockParamUnion] {
	return &form[sdk.MessageParam, sdk.ContentBlockParamUnion]{
		role: func(m sdk.MessageParam) string {
			if role := m.GetRole(); role != nil {
				return *role
			}
			return ""
		},
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
		right: func(b sdk.ContentBlockParamUnion) (sdk.ContentBlockParamUnion, bool) {
			if b.OfToolUse != nil {
				use := *b.OfToolUse
				use.Name, use.Input = nameToSend(use.Name), inputToSend(use.Input)
				b.OfToolUse = &use
			}
			return b, b.OfText == nil || strings.TrimSpace(b.OfText.Text) != ""
		},
		failure: func(id, text string) sdk.ContentBlockParamUnion { return sdk.NewToolResultBlock(id, text, true) },
	}
}

func beta() *form[sdk.BetaMessageParam, sdk.BetaContentBlockParamUnion] {
	return &form[sdk.BetaMessageParam, sdk.BetaContentBlockParamUnion]{
		role: func(m sdk.BetaMessageParam) string {
			if role := m.GetRole(); role != nil {
				return *role
			}
			return ""
		},
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
		right: func(b sdk.BetaContentBlockParamUnion) (sdk.BetaContentBlockParamUnion, bool) {
			if b.OfToolUse != nil {
				use := *b.OfToolUse
				use.Name, use.Input = nameToSend(use.Name), inputToSend(use.Input)
				b.OfToolUse = &use
			}
			return b, b.OfText == nil || strings.TrimSpace(b.OfText.Text) != ""
		},
		failure: func(id, text string) sdk.BetaContentBlockParamUnion {
			return sdk.NewBetaToolResultBlock(id, text, true)
		},
	}
}

// onlyResults reports whether content is results of the program's calls and nothing else.
func (f *form[M, B]) onlyResults(content []B) bool {
	return !slices.ContainsFunc(content, func(b B) bool { return !f.look(b).result })
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

// unanswered returns the calls in content that need a result and have none. Those of a
// model that another one has taken over from do not.
func (f *form[M, B]) unanswered(content, results []B) []profile.Call {
	known := map[string]bool{}
	for _, b := range results {
		known[f.look(b).ends] = true
	}
	var calls []profile.Call
	for _, b := range content {
		switch v := f.look(b); {
		case v.over:
			calls = nil
		case v.call != nil && !known[v.call.ID]:
			calls = append(calls, *v.call)
		}
	}
	return calls
}

// sendable returns what a model wrote as the API takes it back.
func (f *form[M, B]) sendable(content []B) []B {
	var kept []B
	for _, b := range content {
		if b, ok := f.right(b); ok {
			kept = append(kept, b)
		}
	}
	return kept
}

// otherThanName matches what the name of a tool cannot have.
var otherThanName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// maxName is how long a name can be that stands in a call, in bytes.
const maxName = 128

func nameToSend(name string) string {
	name = otherThanName.ReplaceAllString(name, "_")
	if name == "" {
		name = "_"
	}
	return name[:min(len(name), maxName)]
}

// inputToSend returns arguments as they can stand in a conversation.
func inputToSend(input any) any {
	data, err := json.Marshal(input)
	if err == nil && profile.Object(data) == string(data) {
		return input
	}
	return json.RawMessage("{}")
}
