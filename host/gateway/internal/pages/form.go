package pages

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

const (
	// maxAsked bounds the arguments that a form of a client shows, in bytes: a call with more is
	// decided on a page.
	maxAsked = 16 << 10
	// pretty is up to how many bytes of arguments are indented.
	pretty = 64 << 10
)

// The choices of the form.
const (
	chooseApprove      = "approve"
	chooseConversation = "approve for this conversation"
	chooseRefuse       = "refuse"
)

// Form returns the form by which a client asks its user about a call. It is nil if the arguments
// are too long to be shown in one.
func Form(req *registry.ApprovalRequest, session bool) *mcp.ElicitParams {
	if len(req.Args) > maxAsked {
		return nil
	}
	args := shown(req.Args)
	if len(args) > 2*maxAsked {
		return nil
	}
	choices := []string{chooseApprove, chooseConversation, chooseRefuse}
	if !session {
		choices = []string{chooseApprove, chooseRefuse}
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"decision"},
		"properties": map[string]any{
			"decision": map[string]any{"type": "string", "title": "Decision", "enum": choices},
			"note":     map[string]any{"type": "string", "title": "Why, if you refuse", "maxLength": maxNote},
		},
	})
	if err != nil {
		return nil
	}
	return &mcp.ElicitParams{Mode: "form", Message: question(req) + "\n\nArguments:\n" + args, RequestedSchema: json.RawMessage(schema)}
}

// question asks about a call, without its arguments.
func question(req *registry.ApprovalRequest) string {
	text := "May the tool " + plain.Quote(req.Tool.Name)
	if server := req.Tool.Origin.Server; server != "" {
		text += " of the server " + plain.Quote(server)
	}
	text += " be called?"
	if req.Reason != "" {
		text += fmt.Sprintf(" You are asked because: %s.", plain.Line(req.Reason))
	}
	return text
}

// Decision returns what the answer to a [Form] says, or Ask if it decides nothing.
func Decision(res *mcp.ElicitResult, session bool) approval.Decision {
	if res.Action == "decline" {
		return Verdict(approval.Deny, "")
	}
	choice, _ := res.Content["decision"].(string)
	switch {
	case res.Action != "accept":
	case choice == chooseApprove:
		return approval.Decision{Verdict: approval.Allow}
	case choice == chooseConversation && session:
		return approval.Decision{Verdict: approval.AllowForConversation}
	case choice == chooseRefuse:
		note, _ := res.Content["note"].(string)
		return Verdict(approval.Deny, note)
	}
	return approval.Decision{Verdict: approval.Ask}
}

// Verdict returns a decision of a person, with what they say against a call.
func Verdict(v approval.Verdict, note string) approval.Decision {
	if v != approval.Deny {
		return approval.Decision{Verdict: v}
	}
	reason := "the user refused it"
	if note = plain.Line(plain.Cut(note, maxNote)); note != "" {
		reason += ": " + note
	}
	return approval.Decision{Verdict: v, Reason: reason}
}

// shown returns arguments as text for a person: indented, unless they are long or deep, and with all that could
// deceive a reader written out.
func shown(args json.RawMessage) string {
	var out bytes.Buffer
	if len(args) > pretty || jsonscan.Nesting(args) > jsonscan.MaxDepth || json.Indent(&out, args, "", "  ") != nil {
		return plain.Text(string(args))
	}
	return plain.Text(out.String())
}
