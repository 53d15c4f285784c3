package eino_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

func onePixel() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// resultTool is a native tool with any result.
type resultTool struct {
	def *registry.Definition
	res func() (*mcp.CallToolResult, error)
}

func (t *resultTool) Definition() *registry.Definition { return t.def }

func (t *resultTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return t.res()
}

func returning(name string, res func() (*mcp.CallToolResult, error)) registry.Tool {
	return &resultTool{&registry.Definition{Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)}, res}
}

func pictureTool(name string, ran func()) registry.Tool {
	return returning(name, func() (*mcp.CallToolResult, error) {
		ran()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "look:"}, &mcp.ImageContent{MIMEType: "image/png", Data: onePixel()}}}, nil
	})
}

// checkImage wants a text and an image.
func checkImage(t *testing.T, parts []schema.MessageInputPart) {
	t.Helper()
	if len(parts) != 2 || parts[0].Text != "look:" || parts[1].Type != schema.ChatMessagePartTypeImageURL || parts[1].Image.MIMEType != "image/png" || parts[1].Image.URL != nil {
		t.Fatalf("the parts are %+v", parts)
	}
	if data, err := base64.StdEncoding.DecodeString(*parts[1].Image.Base64Data); err != nil || !bytes.Equal(data, onePixel()) {
		t.Errorf("the image is %q, %v", *parts[1].Image.Base64Data, err)
	}
}

func newModel(t *testing.T) *adaptertest.Model {
	return adaptertest.NewModel(t, adaptertest.OpenAIChat{})
}

func says(text string) func(*adaptertest.Request) adaptertest.Reply {
	return func(*adaptertest.Request) adaptertest.Reply { return adaptertest.Reply{Text: text} }
}

var lastID atomic.Int64

// calls is a reply of the model with calls, given as name and arguments in turn.
func calls(all ...string) func(*adaptertest.Request) adaptertest.Reply {
	return func(*adaptertest.Request) adaptertest.Reply {
		var r adaptertest.Reply
		for i := 0; i < len(all); i += 2 {
			r.Calls = append(r.Calls, adaptertest.Call{ID: fmt.Sprintf("call_%d", lastID.Add(1)), Name: all[i], Arguments: json.RawMessage(all[i+1])})
		}
		return r
	}
}
