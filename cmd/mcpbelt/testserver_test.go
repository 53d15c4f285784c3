package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/skilltest"
)

// A testServer is an MCP server for these tests, over standard input and output or HTTP. What it
// does well or badly is said by flags.
type testServer struct {
	name     string
	mark     string        // file to which a line is added when the server starts
	describe string        // file with the description of the tool echo
	exit     string        // written to standard error before the server ends at once
	hang     bool          // never answers
	stray    bool          // writes what is no message to standard output
	evil     bool          // has control sequences in what it says
	invalid  bool          // has a tool with a schema that the gate does not let in
	lossy    bool          // has a tool with a schema that no provider takes as it is
	many     int           // further tools
	delay    time.Duration // before the server begins
	status   int           // HTTP status of every answer
	features bool          // has a tool for each thing that a call can come upon, resources and a prompt
	news     string        // file whose content is a resource that changes
	use      string        // the instructions beside those tools
	skills   string        // file with files of skills as JSON, which are all that it has
	tools    string        // file with a list of tools as JSON, in place of all others
}

func parseTestServer(args []string) (*testServer, error) {
	c := &testServer{}
	f := flag.NewFlagSet("testserver", flag.ContinueOnError)
	f.StringVar(&c.name, "name", "testserver", "")
	f.StringVar(&c.mark, "mark", "", "")
	f.StringVar(&c.describe, "describe", "", "")
	f.StringVar(&c.exit, "exit", "", "")
	f.BoolVar(&c.hang, "hang", false, "")
	f.BoolVar(&c.stray, "noise", false, "")
	f.BoolVar(&c.evil, "evil", false, "")
	f.BoolVar(&c.invalid, "invalid", false, "")
	f.BoolVar(&c.lossy, "lossy", false, "")
	f.IntVar(&c.many, "many", 0, "")
	f.DurationVar(&c.delay, "delay", 0, "")
	f.IntVar(&c.status, "status", 0, "")
	f.BoolVar(&c.features, "features", false, "")
	f.StringVar(&c.news, "news", "", "")
	f.StringVar(&c.use, "use", "", "")
	f.StringVar(&c.skills, "skills", "", "")
	f.StringVar(&c.tools, "tools", "", "")
	return c, f.Parse(args)
}

// runTestServer runs the server over standard input and output and returns its exit.
func runTestServer(args []string) int {
	c, err := parseTestServer(args)
	if err != nil {
		return 2
	}
	if c.mark != "" {
		f, err := os.OpenFile(c.mark, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 1
		}
		fmt.Fprintln(f, "started", os.Getpid())
		defer f.Close() // so that a pipe shows when the process has ended
	}
	<-time.After(c.delay)
	switch {
	case c.exit != "":
		fmt.Fprintln(os.Stderr, c.exit)
		return 1
	case c.stray:
		fmt.Println("Welcome to the server!")
	case c.tools != "":
		return c.serveTools(os.Stdin, os.Stdout)
	case c.skills != "":
		files := map[string]string{}
		data, _ := os.ReadFile(c.skills)
		if json.Unmarshal(data, &files) != nil || skilltest.New(files).Run(context.Background(), &mcp.StdioTransport{}) != nil {
			return 1
		}
		return 0
	case c.hang:
		var b [1]byte
		for _, err := os.Stdin.Read(b[:]); err == nil; _, err = os.Stdin.Read(b[:]) {
		}
		return 0
	}
	if err := c.server().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// testServerHandler returns the server over streamable HTTP, at any path.
func testServerHandler(args []string) (http.Handler, error) {
	c, err := parseTestServer(args)
	if err != nil {
		return nil, err
	}
	if c.status != 0 {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(c.status) }), nil
	}
	s := c.server()
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil), nil
}

type textInput struct {
	Text string `json:"text" jsonschema:"what is written"`
}

func (c *testServer) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: c.name, Version: "1.2.3"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	echo := "Echo a text"
	if c.describe != "" {
		if data, err := os.ReadFile(c.describe); err == nil {
			echo = string(data)
		}
	}
	if c.evil {
		echo = "Echo \x1b[31mred\x1b]0;title\a \u202eabc\u009b2J\x7f"
		s.AddResource(&mcp.Resource{Name: "odd", URI: "docs://odd", Description: "Plain\x1b[31m"}, nil)
		s.AddPrompt(&mcp.Prompt{Name: "odd", Description: "Ask\u202e"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "say\x1b[2J"}}}}, nil
		})
	}
	answer := func(_ context.Context, _ *mcp.CallToolRequest, in textInput) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: echo, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, answer)
	mcp.AddTool(s, &mcp.Tool{Name: "write", Description: "Write a text"}, answer)
	if c.features {
		c.addFeatures(s)
	}
	if c.invalid {
		s.AddTool(&mcp.Tool{Name: "odd", Description: "Odd", InputSchema: map[string]any{"type": "object", "$ref": "https://example.com/schema.json"}}, nil)
	}
	if c.lossy {
		schema := map[string]any{
			"type": "object", "properties": map[string]any{"when": map[string]any{"type": "string", "pattern": "^[0-9]+$", "contentEncoding": "base16"}, "any": true},
			"patternProperties": map[string]any{"^x-": map[string]any{"type": "string"}},
		}
		s.AddTool(&mcp.Tool{Name: "lossy", Description: "Lossy", InputSchema: schema}, nil)
		s.AddTool(&mcp.Tool{Name: "poll", InputSchema: map[string]any{"type": "object"}, Meta: mcp.Meta{"ui": map[string]any{"visibility": []string{"app"}}}}, nil)
	}
	for i := range c.many {
		mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("tool%03d", i), Description: "One of many"}, answer)
	}
	return s
}
