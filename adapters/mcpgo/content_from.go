package mcpgo

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	gomcp "github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// resultFrom returns a result of mcp-go as one of ours. Nothing of it is lost: a block
// that we have no type for is text, with its JSON.
func resultFrom(res *gomcp.CallToolResult) *mcp.CallToolResult {
	out := &mcp.CallToolResult{Meta: metaFrom(res.Meta), IsError: res.IsError, Content: []mcp.Content{}}
	for _, c := range res.Content {
		out.Content = append(out.Content, contentFrom(c))
	}
	switch {
	case len(res.RawStructuredContent) > 0:
		out.StructuredContent = res.RawStructuredContent
	case res.StructuredContent != nil:
		if data, err := json.Marshal(res.StructuredContent); err == nil {
			out.StructuredContent = json.RawMessage(data)
		}
	}
	return out
}

func contentFrom(c gomcp.Content) mcp.Content {
	switch c := indirect(c).(type) {
	case gomcp.TextContent:
		return &mcp.TextContent{Text: c.Text, Meta: metaFrom(c.Meta), Annotations: annotationsFrom(c.Annotations)}
	case gomcp.ImageContent:
		if data, err := base64.StdEncoding.DecodeString(c.Data); err == nil {
			return &mcp.ImageContent{Data: data, MIMEType: c.MIMEType, Meta: metaFrom(c.Meta), Annotations: annotationsFrom(c.Annotations)}
		}
		return broken("image", c.MIMEType, len(c.Data))
	case gomcp.AudioContent:
		if data, err := base64.StdEncoding.DecodeString(c.Data); err == nil {
			return &mcp.AudioContent{Data: data, MIMEType: c.MIMEType, Meta: metaFrom(c.Meta), Annotations: annotationsFrom(c.Annotations)}
		}
		return broken("audio", c.MIMEType, len(c.Data))
	case gomcp.ResourceLink:
		return &mcp.ResourceLink{
			URI: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType, Size: c.Size,
			Meta: metaFrom(c.Meta), Annotations: annotationsFrom(c.Annotations),
		}
	case gomcp.EmbeddedResource:
		if resource := resourceFrom(c.Resource); resource != nil {
			return &mcp.EmbeddedResource{Resource: resource, Meta: metaFrom(c.Meta), Annotations: annotationsFrom(c.Annotations)}
		}
	}
	data, err := json.Marshal(c)
	if err != nil {
		return &mcp.TextContent{Text: "[content that cannot be shown]"}
	}
	return &mcp.TextContent{Text: string(data)}
}

// indirect returns the value of content that is a pointer, which mcp-go allows.
func indirect(c gomcp.Content) gomcp.Content {
	switch p := c.(type) {
	case *gomcp.TextContent:
		return *p
	case *gomcp.ImageContent:
		return *p
	case *gomcp.AudioContent:
		return *p
	case *gomcp.ResourceLink:
		return *p
	case *gomcp.EmbeddedResource:
		return *p
	}
	return c
}

// broken returns what stands for data that is not in base64.
func broken(kind, mime string, size int) mcp.Content {
	return &mcp.TextContent{Text: fmt.Sprintf("[%s %q whose %d bytes are not base64]", kind, mime, size)}
}

// resourceFrom returns nil for a resource that is neither text nor bytes.
func resourceFrom(r gomcp.ResourceContents) *mcp.ResourceContents {
	switch r := r.(type) {
	case gomcp.TextResourceContents:
		return &mcp.ResourceContents{URI: r.URI, MIMEType: r.MIMEType, Text: r.Text, Meta: r.Meta}
	case *gomcp.TextResourceContents:
		return resourceFrom(*r)
	case gomcp.BlobResourceContents:
		if blob, err := base64.StdEncoding.DecodeString(r.Blob); err == nil {
			return &mcp.ResourceContents{URI: r.URI, MIMEType: r.MIMEType, Blob: blob, Meta: r.Meta}
		}
	case *gomcp.BlobResourceContents:
		return resourceFrom(*r)
	}
	return nil
}

func metaFrom(m *gomcp.Meta) mcp.Meta {
	if m == nil || len(m.AdditionalFields) == 0 {
		return nil
	}
	return m.AdditionalFields
}

func annotationsFrom(a *gomcp.Annotations) *mcp.Annotations {
	if a == nil {
		return nil
	}
	out := &mcp.Annotations{LastModified: a.LastModified}
	for _, role := range a.Audience {
		out.Audience = append(out.Audience, mcp.Role(role))
	}
	if a.Priority != nil {
		out.Priority = *a.Priority
	}
	return out
}
