package mcp

// The revision 2026-07-28 calls sampling, roots and logging deprecated. Servers
// of all revisions use them still.
//lint:file-ignore SA1019 see above

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The protocol's own types are those of the official SDK, so that values pass
// between this module and code written for the SDK without conversion. The two
// exceptions are [Tool] and [CallToolResult], which also hold what the server sent.
type (
	// ToolAnnotations are hints about a tool from its server. They are claims
	// of an untrusted party unless the server is trusted.
	ToolAnnotations = sdk.ToolAnnotations
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
	// ServerCapabilities say which features a server offers.
	ServerCapabilities = sdk.ServerCapabilities
	// ProgressParams are the contents of one progress notification.
	ProgressParams = sdk.ProgressNotificationParams
	// ElicitParams are what a server asks the user for.
	ElicitParams = sdk.ElicitParams
	// An ElicitResult is the user's answer: accept, decline or cancel.
	ElicitResult = sdk.ElicitResult
	// Meta is the metadata that requests and results carry in "_meta". In what a server
	// sent, numbers are of type [encoding/json.Number].
	Meta = sdk.Meta
	// Annotations say for whom a piece of content is meant, and how important it is.
	Annotations = sdk.Annotations
	// A Resource is something that a server offers to read, such as a file.
	Resource = sdk.Resource
	// A ResourceTemplate stands for resources whose URIs follow a pattern
	// (RFC 6570).
	ResourceTemplate = sdk.ResourceTemplate
	// A ReadResourceResult holds the contents of a resource, or of several that
	// belong together.
	ReadResourceResult = sdk.ReadResourceResult
	// A Prompt is a text template that a server offers.
	Prompt = sdk.Prompt
	// A GetPromptResult is a prompt with its arguments filled in.
	GetPromptResult = sdk.GetPromptResult
	// CompleteParams say what is to be completed: an argument of a prompt or a
	// variable of a resource template.
	CompleteParams = sdk.CompleteParams
	// A CompleteReference names the prompt ("ref/prompt") or the resource
	// template ("ref/resource") in [CompleteParams].
	CompleteReference = sdk.CompleteReference
	// A CompleteArgument is the argument that is to be completed, and what there
	// is of its value.
	CompleteArgument = sdk.CompleteParamsArgument
	// A CompleteContext holds the arguments that have their values already.
	CompleteContext = sdk.CompleteContext
	// A CompleteResult holds the values that a server suggests.
	CompleteResult = sdk.CompleteResult
	// A Role says who speaks: "user" or "assistant".
	Role = sdk.Role

	// SampleParams are the conversation of a sampling request.
	//
	// Deprecated: Protocol revision 2026-07-28 deprecates sampling (SEP-2577). It works
	// with older servers, and with newer ones that still use it.
	SampleParams = sdk.CreateMessageWithToolsParams
	// A SampleResult is what the model said.
	//
	// Deprecated: Protocol revision 2026-07-28 deprecates sampling (SEP-2577). It works
	// with older servers, and with newer ones that still use it.
	SampleResult = sdk.CreateMessageWithToolsResult
	// A SamplingMessage is one message of a conversation with a model.
	//
	// Deprecated: Protocol revision 2026-07-28 deprecates sampling (SEP-2577). It works
	// with older servers, and with newer ones that still use it.
	SamplingMessage = sdk.SamplingMessageV2
	// ToolUseContent is a model's call of a tool of the server.
	ToolUseContent = sdk.ToolUseContent
	// ToolResultContent is what came of it.
	ToolResultContent = sdk.ToolResultContent
	// A Root is a folder or file that a server may work in.
	//
	// Deprecated: Protocol revision 2026-07-28 deprecates roots (SEP-2577). They work
	// with older servers, and with newer ones that still use them.
	Root = sdk.Root
	// A LoggingLevel is the severity of a server's log message, from "debug" to
	// "emergency".
	//
	// Deprecated: Protocol revision 2026-07-28 deprecates logging (SEP-2577). It works
	// with older servers, and with newer ones that still use it.
	LoggingLevel = sdk.LoggingLevel

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
