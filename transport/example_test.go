package transport_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A server in this process, as an mcp.Client sees it.
func ExamplePipe() {
	server := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1"}, nil)
	type who struct {
		Name string `json:"name"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "greet"}, func(_ context.Context, _ *sdk.CallToolRequest, in who) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
	})
	client := mcp.NewClient("greeter", &transport.Pipe{Serve: server.Run}, nil)
	defer func() { _ = client.Close() }()
	result, err := client.CallTool(context.Background(), "greet", []byte(`{"name":"Ann"}`), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*sdk.TextContent).Text)
	// Output: Hello, Ann
}

func ExampleCommand() {
	tr := &transport.Command{
		Path:         "npx",
		Args:         []string{"-y", "@modelcontextprotocol/server-everything"},
		Env:          []string{"API_KEY=" + os.Getenv("API_KEY")},
		Stderr:       func(line string) { log.Print(line) },
		CloseTimeout: 2 * time.Second,
	}
	client := mcp.NewClient("everything", tr, nil)
	defer func() { _ = client.Close() }()
}

func ExampleHTTP() {
	tr := &transport.HTTP{
		URL:    "https://mcp.example.com/mcp",
		Header: http.Header{"Authorization": {"Bearer " + os.Getenv("TOKEN")}},
	}
	client := mcp.NewClient("example", tr, nil)
	defer func() { _ = client.Close() }()
}

// A token from package oauth2: here the client credentials of a program.
func ExampleBearer() {
	credentials := &clientcredentials.Config{
		ClientID: "my-agent", ClientSecret: os.Getenv("CLIENT_SECRET"), TokenURL: "https://login.example.com/token",
	}
	ctx := context.Background()
	tr := &transport.HTTP{
		URL:   "https://mcp.example.com/mcp",
		OAuth: transport.Bearer(credentials.TokenSource(ctx)), // keeps the token until it expires
	}
	client := mcp.NewClient("example", tr, nil)
	defer func() { _ = client.Close() }()

	_, err := client.Tools(ctx)
	var refused *transport.StatusError
	if errors.As(err, &refused) {
		log.Print("the server does not accept the token: ", refused)
	}
}

// An address of which nobody knows whether its server is old or new.
func ExampleAuto() {
	client := mcp.NewClient("example", &transport.HTTP{Variant: transport.Auto, URL: "https://mcp.example.com/sse"}, nil)
	defer func() { _ = client.Close() }()
}

func ExampleSSE() {
	client := mcp.NewClient("example", &transport.HTTP{Variant: transport.SSE, URL: "https://mcp.example.com/sse"}, nil)
	defer func() { _ = client.Close() }()
}
