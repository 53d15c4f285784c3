package registry

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A QuarantinedError reports a call to a tool that is new or changed and was not
// approved, or whose change cannot be read ([ledger.ToolUnread]). Nothing ran. Its text is an analysis of what changed.
type QuarantinedError struct {
	Name   string         // what the tool is called in the catalogue
	Change *ledger.Change // what changed
}

// Error tells the model, and who reads along, what changed and what to do. The
// server's words in it are short, and marked as such.
func (e *QuarantinedError) Error() string {
	text := fmt.Sprintf("tool %s was not called and nothing ran: it is quarantined. ", plain.Quote(e.Name))
	c := e.Change
	if c == nil {
		return text + whatToDo
	}
	tool, server := plain.Quote(c.Tool), plain.Quote(c.Server)
	switch c.Kind {
	case ledger.ToolNew:
		text += fmt.Sprintf("Nobody has accepted tool %s of server %s yet. ", tool, server)
	case ledger.ToolRejected:
		if c.Tool == "" {
			tool = "what it leads to"
		}
		return text + fmt.Sprintf("Somebody has looked at server %s and rejected %s. Do not call it again; do without it, or ask the user.", server, tool)
	case ledger.ToolUnread:
		return text + fmt.Sprintf("Server %s has announced that its tools have changed, and the change cannot be read. ", server) + whatToDoUnread
	case ledger.ServerQuarantined:
		text += fmt.Sprintf("All of server %s is in quarantine, and nobody has accepted the server yet. ", server)
	case ledger.ServerChanged:
		text += fmt.Sprintf("The configuration of server %s leads to another server than the one that was accepted. ", server)
	default:
		text += fmt.Sprintf("Tool %s of server %s is not what was accepted. ", tool, server)
	}
	return text + c.Summary() + whatToDo
}

const (
	whatToDo       = "Ask the user to review this and to accept or reject the tool; do not call it before that."
	whatToDoUnread = "Call it again later, or do without it."
)

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *QuarantinedError) Outcome() mcp.Outcome { return mcp.NotSent }

// An analysis is a QuarantinedError for programs.
type analysis struct {
	Status string            `json:"status"` // always "quarantined"
	Ran    bool              `json:"ran"`    // always false
	Name   string            `json:"name"`
	Reason ledger.ChangeKind `json:"reason,omitempty"`
	Server string            `json:"server,omitempty"`
	Tool   string            `json:"tool,omitempty"`
	Hash   string            `json:"hash,omitempty"`
	Fields []analysisOfField `json:"quotedChanges,omitempty"`
	More   int               `json:"moreChanges,omitempty"`
	Action string            `json:"action"`
}

type analysisOfField struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Analysis returns the error as a result, for agents that hand results to their
// model: IsError is set, the text is that of [QuarantinedError.Error], and the
// structured content is the same for programs.
func (e *QuarantinedError) Analysis() *mcp.CallToolResult {
	a := analysis{Status: "quarantined", Name: plain.Cut(e.Name, maxName), Action: whatToDo}
	if c := e.Change; c != nil {
		if c.Kind == ledger.ToolUnread {
			a.Action = whatToDoUnread
		}
		a.Reason, a.Server, a.Tool, a.Hash = c.Kind, plain.Cut(c.Server, maxName), plain.Cut(c.Tool, maxName), c.Hash
		fields, more := c.Brief()
		a.More = more
		for _, f := range fields {
			a.Fields = append(a.Fields, analysisOfField(f))
		}
	}
	res := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: e.Error()}}}
	if structured, err := json.Marshal(a); err == nil {
		res.StructuredContent = json.RawMessage(structured)
	}
	return res
}

// A Quarantined is a tool that is known but not listed, because nobody approved
// it as it is.
type Quarantined struct {
	Tool   *Definition    // as its server describes it now
	Change *ledger.Change // what changed
}
