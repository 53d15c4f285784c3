package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

const (
	// roleServer is an MCP server over standard input and output.
	roleServer = "serve"
	// roleLine is the same program without MCP: it makes the server, writes one line,
	// and reads until its input ends.
	roleLine = "line"
)

// newServer returns a server with one tool, which answers with the server's name.
func newServer(name string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "answers with the name of the server"},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name}}}, nil, nil
		})
	return s
}

func runServer() error { return newServer("server").Run(context.Background(), &sdk.StdioTransport{}) }

func runLine() error {
	newServer("line")
	if _, err := fmt.Println("up"); err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
	}
	return nil
}

// inProcess makes the server of an entry in this process.
func inProcess(_ session.Key, e *config.Server) (mcp.Transport, error) {
	return &transport.Pipe{Serve: newServer(e.Name).Run}, nil
}

// parse returns the config of entries, by pairs of names and texts.
func parse(pairs ...string) (*config.Config, error) {
	var members []string
	for i := 0; i+1 < len(pairs); i += 2 {
		members = append(members, fmt.Sprintf("%q: %s", pairs[i], pairs[i+1]))
	}
	return config.Parse(context.Background(), "bench.json", []byte(`{"mcpServers": {`+strings.Join(members, ",\n")+`}}`), nil)
}

// entries returns n pairs of a name and the entry that f makes.
func entries(n int, f func(i int) string) []string {
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("s%03d", i), f(i))
	}
	return pairs
}

// listed checks that a host lists so many tools.
func listed(h *host.Host, want int) error {
	if got := len(h.Registry().Snapshot().Tools()); got != want {
		return fmt.Errorf("%d tools are listed, want %d", got, want)
	}
	return nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
