package result

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A caller that changes what it has read does not change what is kept.
func TestReadBlocksAreCopies(t *testing.T) {
	r := New(&Options{})
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("image"), MIMEType: "image/png"}}}
	handle := r.keep(t.Context(), From{}, res, nil)
	for range 2 {
		page := r.Read(t.Context(), ReadArgs{Handle: handle})
		if len(page.Content) != 2 {
			t.Fatal(page)
		}
		image, ok := page.Content[1].(*mcp.ImageContent)
		if !ok || string(image.Data) != "image" || image.MIMEType != "image/png" {
			t.Fatalf("read %+v", page.Content[1])
		}
		image.Data[0], image.MIMEType = 'I', "text/plain"
	}
}
