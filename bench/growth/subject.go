package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
)

// Subjects: whose client, and how it reaches the server.
const (
	hostStdio = "host stdio"
	hostHTTP  = "host http"
	sdkStdio  = "sdk stdio"
	sdkHTTP   = "sdk http"
)

// A caller calls the tool text of one server. It is safe for concurrent use.
type caller interface {
	call(ctx context.Context, bytes int) error
	close() error
}

// openCaller starts a server and connects a subject with it.
func openCaller(ctx context.Context, subject string) (c caller, err error) {
	var web *webServer
	if strings.HasSuffix(subject, "http") {
		if web, err = startWebServer(roleServer, "http"); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(subject, "host") {
		c, err = openHost(ctx, web)
	} else {
		c, err = openSDK(ctx, web)
	}
	if err != nil && web != nil {
		err = errors.Join(err, web.close())
	}
	return c, err
}

// arguments returns those of a call.
func arguments(bytes int) json.RawMessage { return fmt.Appendf(nil, `{"bytes":%d}`, bytes) }

// answered returns an error for a result that is not a text of so many bytes.
func answered(content []sdk.Content, want int) error {
	if len(content) != 1 {
		return fmt.Errorf("got %d blocks, want 1", len(content))
	}
	text, ok := content[0].(*sdk.TextContent)
	if !ok || len(text.Text) != want {
		return fmt.Errorf("got another block than a text of %d bytes", want)
	}
	return nil
}

// hosted is the host with one server.
type hosted struct {
	host *host.Host
	web  *webServer // nil: the server is a child of the host
}

func openHost(ctx context.Context, web *webServer) (caller, error) {
	entry, err := stdioEntry()
	if err != nil {
		return nil, err
	}
	if web != nil {
		entry = httpEntry(web.at("mcp"))
	}
	h, err := applied(ctx, &host.Options{StateDir: host.NoState}, entry)
	if err != nil {
		return nil, err
	}
	return hosted{h, web}, nil
}

func (h hosted) call(ctx context.Context, bytes int) error {
	res, err := h.host.Registry().Call(ctx, "s000__text", arguments(bytes))
	if err != nil {
		return err
	}
	return answered(res.Content, bytes)
}

func (h hosted) close() error {
	err := h.host.Close()
	if h.web != nil {
		err = errors.Join(err, h.web.close())
	}
	return err
}

// stdioEntry returns the config entry of a server over stdio.
func stdioEntry() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`{"command": %q, "args": [%q, "stdio"]}`, program, roleServer), nil
}

func httpEntry(url string) string { return fmt.Sprintf(`{"url": %q}`, url) }

// parsed returns a config of servers called s000, s001 and so on.
func parsed(ctx context.Context, entries ...string) (*config.Config, error) {
	members := make([]string, len(entries))
	for i, entry := range entries {
		members[i] = fmt.Sprintf(`"s%03d": %s`, i, entry)
	}
	return config.Parse(ctx, "growth.json", []byte(`{"mcpServers": {`+strings.Join(members, ",\n")+`}}`), nil)
}

// applied returns a host with those servers, all of which are ready.
func applied(ctx context.Context, opts *host.Options, entries ...string) (*host.Host, error) {
	c, err := parsed(ctx, entries...)
	if err != nil {
		return nil, err
	}
	h := host.New(opts)
	if _, err := h.Apply(ctx, c); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if got, want := len(h.Registry().Snapshot().Tools()), 5*len(entries); got != want {
		return nil, errors.Join(fmt.Errorf("got %d tools, want %d", got, want), h.Close())
	}
	return h, nil
}

// bare is a session of the official SDK.
type bare struct {
	session *sdk.ClientSession
	pool    *http.Transport // nil for stdio
	web     *webServer
}

func openSDK(ctx context.Context, web *webServer) (caller, error) {
	if web == nil {
		s, err := startSDK(ctx)
		return bare{session: s}, err
	}
	pool := &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}
	client := sdk.NewClient(&sdk.Implementation{Name: "growth", Version: "1"}, nil)
	s, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: web.at("mcp"), HTTPClient: &http.Client{Transport: pool}}, nil)
	return bare{s, pool, web}, err
}

// startSDK connects a client of the SDK with a server over stdio.
func startSDK(ctx context.Context) (*sdk.ClientSession, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "growth", Version: "1"}, nil)
	return client.Connect(ctx, &sdk.CommandTransport{Command: exec.Command(program, roleServer, "stdio")}, nil)
}

func (b bare) call(ctx context.Context, bytes int) error {
	res, err := b.session.CallTool(ctx, &sdk.CallToolParams{Name: "text", Arguments: arguments(bytes)})
	if err != nil {
		return err
	}
	return answered(res.Content, bytes)
}

func (b bare) close() error {
	err := b.session.Close()
	if b.pool != nil {
		b.pool.CloseIdleConnections()
	}
	if b.web != nil {
		err = errors.Join(err, b.web.close())
	}
	return err
}
