package registry

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// Whoever changes what he has read does not change what is kept.
func TestReadBlocksAreCopies(t *testing.T) {
	r := newResults(&ResultOptions{})
	e := &entry{def: &Definition{Name: "draw"}}
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("image"), MIMEType: "image/png"}}}
	handle := r.keep(t.Context(), e, res, nil)
	for range 2 {
		page, err := r.read(t.Context(), readArgs{Handle: handle})
		if err != nil || len(page.Content) != 2 {
			t.Fatal(page, err)
		}
		image, ok := page.Content[1].(*mcp.ImageContent)
		if !ok || string(image.Data) != "image" || image.MIMEType != "image/png" {
			t.Fatalf("read %+v", page.Content[1])
		}
		image.Data[0], image.MIMEType = 'I', "text/plain"
	}
}
