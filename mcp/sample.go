package mcp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A SampleRequest is a server's wish to have a language model go on with a
// conversation.
type SampleRequest struct {
	// Server is the name of the server that asks, as given to [NewClient].
	// Show it to the user: what Params says comes from that server.
	Server string
	// Params are the conversation and how to go on with it. MaxTokens must be
	// respected.
	Params *SampleParams
}

// sample answers sampling/createMessage.
func (c *Client) sample(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	return nil, &JSONRPCError{Code: jsonrpc.CodeMethodNotFound, Message: "later"}
}
