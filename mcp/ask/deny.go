package ask

import (
	"context"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// Deny declines everything. With it the capability is declared, and requests are
// declined; without handlers the capability is not declared.
type Deny struct{}

// Elicit declines to fill in a form.
func (Deny) Elicit(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: decline}, nil
}

// ElicitURL declines to visit a page.
func (Deny) ElicitURL(context.Context, *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: decline}, nil
}

// Sample rejects with [mcp.ErrRejected].
//
// Deprecated: Protocol revision 2026-07-28 deprecates sampling (SEP-2577). It works
// with older servers, and with newer ones that still use it.
func (Deny) Sample(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) {
	return nil, mcp.ErrRejected
}

// The actions of an answer.
const (
	accept  = "accept"
	decline = "decline"
	cancel  = "cancel"
)
