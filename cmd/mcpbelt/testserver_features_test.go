package main

//lint:file-ignore SA1019 Sampling is deprecated since revision 2026-07-28, and works.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A featuresInput has an argument of each type.
type featuresInput struct {
	Text   string         `json:"text,omitempty"`
	Count  int            `json:"count,omitempty"`
	Ratio  float64        `json:"ratio,omitempty"`
	Sure   bool           `json:"sure,omitempty"`
	Names  []string       `json:"names,omitempty"`
	Things map[string]any `json:"things,omitempty"`
}

// A sum is the structured result of the tool sum.
type sum struct {
	Sum int `json:"sum" jsonschema:"the sum"`
}

// addFeatures adds a tool for each thing that a call can come upon, a resource and a prompt.
func (c *testServer) addFeatures(s *mcp.Server) {
	tool := func(name, description string, f func(context.Context, *mcp.CallToolRequest, featuresInput) (*mcp.CallToolResult, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: description}, func(ctx context.Context, r *mcp.CallToolRequest, in featuresInput) (*mcp.CallToolResult, any, error) {
			res, err := f(ctx, r, in)
			return res, nil, err
		})
	}
	say := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	tool("arguments", "Return the arguments", func(_ context.Context, r *mcp.CallToolRequest, _ featuresInput) (*mcp.CallToolResult, error) {
		return say(string(r.Params.Arguments)), nil
	})
	tool("media", "Return an image, a sound and a file", func(context.Context, *mcp.CallToolRequest, featuresInput) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "three files"},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG image")},
			&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF sound")},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", MIMEType: "x/y", Blob: []byte("blob")}},
		}}, nil
	})
	tool("fail", "Report an error", func(context.Context, *mcp.CallToolRequest, featuresInput) (*mcp.CallToolResult, error) {
		return nil, errors.New("the disk is full")
	})
	s.AddTool(&mcp.Tool{Name: "refuse", Description: "Answer with an error", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("out of order")
	})
	tool("die", "End the server", func(context.Context, *mcp.CallToolRequest, featuresInput) (*mcp.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	tool("hang", "Do not answer before the call is cancelled", func(ctx context.Context, r *mcp.CallToolRequest, in featuresInput) (*mcp.CallToolResult, error) {
		c.note("called")
		for i := range in.Count {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 10, Message: "at work"})
		}
		if in.Text != "" { // until the file exists
			for _, err := os.Stat(in.Text); err != nil && ctx.Err() == nil; _, err = os.Stat(in.Text) {
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
			return say("waited"), nil
		}
		<-ctx.Done()
		c.note("cancelled")
		return nil, ctx.Err()
	})
	tool("greet", "Ask the user for a name", func(_ context.Context, r *mcp.CallToolRequest, _ featuresInput) (*mcp.CallToolResult, error) {
		answer, asked := r.Params.InputResponses["who"].(*mcp.ElicitResult)
		if caps := r.ClientCapabilities(); !asked && (caps == nil || caps.Elicitation == nil) {
			return say("no one can be asked"), nil
		}
		if !asked {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{
				Mode: "form", Message: "Who are you?", RequestedSchema: json.RawMessage(`{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}`),
			}}}, nil
		}
		return say(fmt.Sprintf("%s: hello, %v", answer.Action, answer.Content["name"])), nil
	})
	tool("insist", "Ask, whether the client can or not", func(_ context.Context, _ *mcp.CallToolRequest, in featuresInput) (*mcp.CallToolResult, error) {
		switch in.Text {
		case "page":
			data := `{"elicitations": [{"mode": "url", "elicitationId": "1", "url": "https://example.com/pay", "message": "Pay first"}]}`
			return nil, &jsonrpc.Error{Code: mcp.CodeURLElicitationRequired, Message: "pay", Data: json.RawMessage(data)}
		case "elicitation", "sampling":
			data := fmt.Sprintf(`{"requiredCapabilities": {%q: {}}}`, in.Text)
			return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "cannot ask", Data: json.RawMessage(data)}
		case "model":
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.CreateMessageParams{
				Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Say something"}}}, MaxTokens: 100,
			}}}, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{
			Mode: "form", Message: "Sure?", RequestedSchema: json.RawMessage(`{"type": "object", "properties": {}}`),
		}}}, nil
	})
	tool("sample", "Ask a model", func(_ context.Context, r *mcp.CallToolRequest, _ featuresInput) (*mcp.CallToolResult, error) {
		answer, asked := r.Params.InputResponses["model"].(*mcp.CreateMessageWithToolsResult)
		if caps := r.ClientCapabilities(); !asked && (caps == nil || caps.Sampling == nil) {
			return say("there is no model"), nil
		}
		if !asked {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"model": &mcp.CreateMessageParams{
				Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Say something"}}}, MaxTokens: 100,
			}}}, nil
		}
		return &mcp.CallToolResult{Content: answer.Content}, nil
	})
	yes := true
	mcp.AddTool(s, &mcp.Tool{Name: "wipe", Description: "Wipe a text", Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}}, func(_ context.Context, _ *mcp.CallToolRequest, in featuresInput) (*mcp.CallToolResult, any, error) {
		return say("wiped " + in.Text), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "sum", Title: "Sum", Description: "Add numbers\twith a tab", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		A int `json:"a" jsonschema:"the first"`
		B int `json:"b" jsonschema:"the second"`
	}) (*mcp.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	c.addContent(s)
}

// addContent adds resources and prompts.
func (c *testServer) addContent(s *mcp.Server) {
	text := func(name, uri, media, content string) {
		s.AddResource(&mcp.Resource{Name: name, URI: uri, MIMEType: media, Description: "The " + name}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: media, Text: content}}}, nil
		})
	}
	text("readme", "docs://readme", "text/plain", "read\tme\x1b[31m\n")
	s.AddResource(&mcp.Resource{Name: "logo", URI: "docs://logo", MIMEType: "image/png"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "docs://logo", MIMEType: "image/png", Blob: []byte("\x89PNG logo")}}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "page", URITemplate: "docs://page/{number}"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "page " + strings.TrimPrefix(r.Params.URI, "docs://page/")}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "review", Description: "Review a text", Arguments: []*mcp.PromptArgument{{Name: "text", Required: true}}}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "A review", Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Review " + r.Params.Arguments["text"]}}}}, nil
	})
	if c.news == "" {
		return
	}
	read := func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		data, err := os.ReadFile(c.news)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "docs://news", Text: string(data)}}}, err
	}
	s.AddResource(&mcp.Resource{Name: "news", URI: "docs://news"}, read)
	go func() { // tells of it until the server ends
		folder, last := filepath.Dir(c.news), ""
		for range time.Tick(10 * time.Millisecond) {
			data, err := os.ReadFile(filepath.Join(folder, filepath.Base(c.news)))
			if err == nil && last != string(data) {
				last = string(data)
				_ = s.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: "docs://news"})
			}
		}
	}()
}

// note adds a line to the mark.
func (c *testServer) note(line string) {
	if c.mark == "" {
		return
	}
	f, err := os.OpenFile(c.mark, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	fmt.Fprintln(f, line, os.Getpid())
	f.Close()
}
