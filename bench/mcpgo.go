package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	markclient "github.com/mark3labs/mcp-go/client"
	marktransport "github.com/mark3labs/mcp-go/client/transport"
	mark "github.com/mark3labs/mcp-go/mcp"
)

// markClient is the client of mark3labs/mcp-go.
type markClient struct {
	client *markclient.Client
	http   *http.Transport // nil for stdio
}

func dialMarkPipe(ctx context.Context, program string, args []string) (session, error) {
	c, err := markclient.NewStdioMCPClient(program, nil, args...)
	if err != nil {
		return nil, err
	}
	return (&markClient{client: c}).initialize(ctx)
}

func dialMarkHTTP(ctx context.Context, url string) (session, error) {
	return dialMarkWeb(ctx, url)
}

func dialMarkListen(ctx context.Context, url string) (session, error) {
	//lint:ignore SA1019 older servers have this stream alone
	return dialMarkWeb(ctx, url, marktransport.WithContinuousListening(),
		marktransport.WithHTTPLogger(slog.New(slog.DiscardHandler)))
}

func dialMarkWeb(ctx context.Context, url string, opts ...marktransport.StreamableHTTPCOption) (session, error) {
	t := tuned()
	opts = append(opts, marktransport.WithHTTPBasicClient(&http.Client{Transport: t}))
	c, err := markclient.NewStreamableHttpClient(url, opts...)
	if err != nil {
		return nil, err
	}
	m := &markClient{client: c, http: t}
	if err := c.Start(ctx); err != nil {
		_ = m.Close() // the first error tells more
		return nil, err
	}
	return m.initialize(ctx)
}

func (m *markClient) initialize(ctx context.Context) (session, error) {
	var r mark.InitializeRequest
	r.Params.ProtocolVersion = mark.LATEST_PROTOCOL_VERSION
	r.Params.ClientInfo = mark.Implementation{Name: "bench", Version: "1"}
	if _, err := m.client.Initialize(ctx, r); err != nil {
		_ = m.Close() // the first error tells more
		return nil, err
	}
	return m, nil
}

// Call implements session.
func (m *markClient) Call(ctx context.Context, c *call) error {
	var r mark.CallToolRequest
	r.Params.Name, r.Params.Arguments = c.tool, c.args
	result, err := m.client.CallTool(ctx, r)
	if err != nil {
		return err
	}
	if len(result.Content) == 1 {
		if text, ok := mark.AsTextContent(result.Content[0]); ok {
			return c.check(text.Text)
		}
	}
	return fmt.Errorf("%s answered %d blocks", c.tool, len(result.Content))
}

// List implements session.
func (m *markClient) List(ctx context.Context) (int, error) {
	result, err := m.client.ListTools(ctx, mark.ListToolsRequest{})
	if err != nil {
		return 0, err
	}
	return len(result.Tools), nil
}

// Close implements session.
func (m *markClient) Close() error {
	err := m.client.Close()
	if m.http != nil {
		m.http.CloseIdleConnections()
	}
	return err
}
