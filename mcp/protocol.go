package mcp

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The protocol's own types are those of the official SDK, so that values pass
// between this module and code written for the SDK without conversion.
type (
	// A Tool is a tool as its server describes it. On tools returned by
	// [Client.Tools] InputSchema and OutputSchema hold a [encoding/json.RawMessage]:
	// the schema byte for byte as the server sent it.
	Tool = sdk.Tool
	// ToolAnnotations are hints about a tool from its server. They are claims
	// of an untrusted party unless the server is trusted.
	ToolAnnotations = sdk.ToolAnnotations
	// A CallToolResult is what a tool answered. On results returned by
	// [Client.CallTool] StructuredContent holds a [encoding/json.RawMessage].
	CallToolResult = sdk.CallToolResult
	// Content is one block of a tool's answer: [TextContent], [ImageContent],
	// [AudioContent], [ResourceLink] or [EmbeddedResource].
	Content = sdk.Content
	// TextContent is a block of text.
	TextContent = sdk.TextContent
	// ImageContent is an image with its media type.
	ImageContent = sdk.ImageContent
	// AudioContent is a sound with its media type.
	AudioContent = sdk.AudioContent
	// A ResourceLink points to a resource of the server.
	ResourceLink = sdk.ResourceLink
	// An EmbeddedResource carries the contents of a resource.
	EmbeddedResource = sdk.EmbeddedResource
	// ResourceContents are the contents of a resource, text or binary.
	ResourceContents = sdk.ResourceContents
	// An Implementation names a client or server program and its version.
	Implementation = sdk.Implementation
	// An Icon is a picture offered for display. It is data; nothing here fetches it.
	Icon = sdk.Icon
	// ServerCapabilities say which features a server offers.
	ServerCapabilities = sdk.ServerCapabilities
	// ProgressParams are the contents of one progress notification.
	ProgressParams = sdk.ProgressNotificationParams
	// ElicitParams are what a server asks the user for.
	ElicitParams = sdk.ElicitParams
	// An ElicitResult is the user's answer: accept, decline or cancel.
	ElicitResult = sdk.ElicitResult
	// Meta is the metadata that requests and results carry in "_meta".
	Meta = sdk.Meta
	// Annotations say for whom a piece of content is meant, and how important it is.
	Annotations = sdk.Annotations
	// A JSONRPCError is the error object with which a peer answered a request.
	JSONRPCError = jsonrpc.Error
)

// Protocol revisions that this package speaks with a server.
const (
	// Revision20260728 is the stateless revision, found by server/discover.
	Revision20260728 = "2026-07-28"
	// Revision20251125 is the newest revision with the initialize handshake.
	Revision20251125 = "2025-11-25"
)
