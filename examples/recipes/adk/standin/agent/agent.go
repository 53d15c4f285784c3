// Package agent stands in for google.golang.org/adk/v2/agent: what the recipe for ADK
// uses of its contexts, which have more methods.
package agent

import (
	"context"

	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/session"
	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/toolconfirmation"
)

// A ReadonlyContext is that of an invocation.
type ReadonlyContext interface {
	context.Context
	// SessionID returns the id of the conversation.
	SessionID() string
}

// A Context is that of a call of a tool.
type Context interface {
	ReadonlyContext
	FunctionCallID() string
	Actions() *session.EventActions
	// ToolConfirmation returns what a person has said; nil before that.
	ToolConfirmation() *toolconfirmation.ToolConfirmation
	// RequestConfirmation has the client ask a person.
	RequestConfirmation(hint string, payload any) error
}
