package anthropic

import (
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
)

// gone returns the names that are not among the tools any more, each once.
func (t *Turn) gone(names []string) []string {
	var gone []string
	for _, name := range names {
		if _, ok := t.Set().Lookup(name); !ok && !slices.Contains(gone, name) {
			gone = append(gone, name)
		}
	}
	return gone
}

// found returns the names of the tools that the model has found in a conversation.
func found(conversation []sdk.MessageParam) []string {
	var names []string
	for _, m := range conversation {
		for _, b := range plain().content(m) {
			if b.OfToolSearchToolResult == nil {
				continue
			}
			if result := b.OfToolSearchToolResult.Content.OfRequestToolSearchToolSearchResultBlock; result != nil {
				for _, r := range result.ToolReferences {
					names = append(names, r.ToolName)
				}
			}
		}
	}
	return names
}

func betaFound(conversation []sdk.BetaMessageParam) []string {
	var names []string
	for _, m := range conversation {
		for _, b := range beta().content(m) {
			if b.OfToolSearchToolResult == nil {
				continue
			}
			if result := b.OfToolSearchToolResult.Content.OfRequestToolSearchToolSearchResultBlock; result != nil {
				for _, r := range result.ToolReferences {
					names = append(names, r.ToolName)
				}
			}
		}
	}
	return names
}
