package mcpgo

import (
	"encoding/base64"
	"encoding/json"
	"maps"

	gomcp "github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// resultTo returns a result of ours as one of mcp-go.
func resultTo(res *mcp.CallToolResult) *gomcp.CallToolResult {
	out := &gomcp.CallToolResult{IsError: res.IsError, Content: []gomcp.Content{}}
	out.Meta = metaTo(res.Meta)
	for _, c := range res.Content {
		out.Content = append(out.Content, contentTo(c))
	}
	raw, ok := res.StructuredContent.(json.RawMessage)
	if !ok && res.StructuredContent != nil {
		raw, _ = json.Marshal(res.StructuredContent)
	}
	if len(raw) > 0 && string(raw) != "null" {
		out.RawStructuredContent = raw
		// For the middleware of mcp-go, and its check against the output schema.
		_ = json.Unmarshal(raw, &out.StructuredContent)
	}
	return out
}

func contentTo(c mcp.Content) gomcp.Content {
	switch c := c.(type) {
	case *mcp.TextContent:
		if c != nil {
			return gomcp.TextContent{Type: gomcp.ContentTypeText, Text: c.Text, Meta: metaTo(c.Meta), Annotated: annotatedTo(c.Annotations)}
		}
	case *mcp.ImageContent:
		if c != nil {
			return gomcp.ImageContent{
				Type: gomcp.ContentTypeImage, Data: base64.StdEncoding.EncodeToString(c.Data), MIMEType: c.MIMEType,
				Meta: metaTo(c.Meta), Annotated: annotatedTo(c.Annotations),
			}
		}
	case *mcp.AudioContent:
		if c != nil {
			return gomcp.AudioContent{
				Type: gomcp.ContentTypeAudio, Data: base64.StdEncoding.EncodeToString(c.Data), MIMEType: c.MIMEType,
				Meta: metaTo(c.Meta), Annotated: annotatedTo(c.Annotations),
			}
		}
	case *mcp.ResourceLink:
		if c != nil {
			return gomcp.ResourceLink{
				Type: gomcp.ContentTypeLink, URI: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType,
				Size: c.Size, Meta: metaTo(c.Meta), Annotated: annotatedTo(c.Annotations),
			}
		}
	case *mcp.EmbeddedResource:
		if c != nil && c.Resource != nil {
			return gomcp.EmbeddedResource{
				Type: gomcp.ContentTypeResource, Resource: resourceTo(c.Resource), Meta: metaTo(c.Meta), Annotated: annotatedTo(c.Annotations),
			}
		}
	}
	return otherTo(c)
}

// otherTo returns a block that no tool should return as text, with its JSON.
func otherTo(c mcp.Content) gomcp.Content {
	text := "[content that cannot be shown]"
	switch c.(type) {
	case *mcp.ToolUseContent, *mcp.ToolResultContent:
		if data, err := json.Marshal(c); err == nil {
			text = string(data)
		}
	}
	return gomcp.TextContent{Type: gomcp.ContentTypeText, Text: text}
}

func resourceTo(r *mcp.ResourceContents) gomcp.ResourceContents {
	if r.Blob != nil {
		return gomcp.BlobResourceContents{URI: r.URI, MIMEType: r.MIMEType, Blob: base64.StdEncoding.EncodeToString(r.Blob), Meta: r.Meta}
	}
	return gomcp.TextResourceContents{URI: r.URI, MIMEType: r.MIMEType, Text: r.Text, Meta: r.Meta}
}

// metaTo copies what it returns: a server of mcp-go writes into it.
func metaTo(m mcp.Meta) *gomcp.Meta {
	if len(m) == 0 {
		return nil
	}
	return &gomcp.Meta{AdditionalFields: maps.Clone(m)}
}

func annotatedTo(a *mcp.Annotations) gomcp.Annotated {
	if a == nil {
		return gomcp.Annotated{}
	}
	out := &gomcp.Annotations{LastModified: a.LastModified}
	for _, role := range a.Audience {
		out.Audience = append(out.Audience, gomcp.Role(role))
	}
	if a.Priority != 0 {
		out.Priority = &a.Priority
	}
	return gomcp.Annotated{Annotations: out}
}
