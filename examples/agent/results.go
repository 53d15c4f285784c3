package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// resultText returns a tool's result as the model reads it: the text, or the
// structured content if there is no text, and a word on what is not shown.
func resultText(result *mcp.CallToolResult) string {
	var parts []string
	hasText := false
	for _, content := range result.Content {
		switch c := content.(type) {
		case *mcp.TextContent:
			hasText = true
			parts = append(parts, c.Text)
		case *mcp.ResourceLink:
			parts = append(parts, fmt.Sprintf("[resource %s]", c.URI))
		default:
			parts = append(parts, "[an image or other content that is not shown]")
		}
	}
	if !hasText && result.StructuredContent != nil {
		if data, err := json.Marshal(result.StructuredContent); err == nil {
			parts = append(parts, string(data))
		}
	}
	text := strings.Join(parts, "\n")
	switch {
	case result.IsError:
		return "The tool reports an error: " + text
	case text == "":
		return "The tool ran and returned nothing."
	default:
		return text
	}
}

// errorText tells the model why there is no result and what it may do about
// it. That depends on one question: has the tool run?
func errorText(err error) string {
	var unknown *registry.UnknownToolError
	var arguments *registry.ArgumentsError
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("Nothing ran: %v\nCall only tools that you are offered.", err)
	case errors.As(err, &arguments):
		return fmt.Sprintf("Nothing ran: %v\nCorrect the arguments and call again.", err)
	}
	switch mcp.OutcomeOf(err) {
	case mcp.NotSent:
		return fmt.Sprintf("Nothing ran: %v\nThe tool may be available again later.", err)
	case mcp.Answered:
		return fmt.Sprintf("The call failed: %v", err)
	default:
		return fmt.Sprintf("The outcome is unknown, the tool may have run: %v\n"+
			"Do not repeat the call before you have checked what it did, with a tool that only reads.", err)
	}
}

// truncate cuts text to at most n bytes, between characters, and says so.
func truncate(text string, n int) string {
	if len(text) <= n {
		return text
	}
	cut := max(n, 0)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s\n[cut here: the first %d of %d bytes]", text[:cut], cut, len(text))
}
