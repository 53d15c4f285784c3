package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/wildtest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A rawClient sends messages, and returns the answers, as they are written.
type rawClient interface {
	send(t *testing.T, method, params string) json.RawMessage
}

// A webClient speaks the streamable HTTP transport.
type webClient struct {
	url, revision, session string
	http                   *http.Client
	ids                    int
}

func newWebClient(t *testing.T, url, revision string) *webClient {
	c := &webClient{url: url, revision: revision, http: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(c.http.CloseIdleConnections)
	if revision != mcp.Revision20260728 {
		c.send(t, "initialize", `{"protocolVersion":"`+revision+`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`)
	}
	return c
}

// modernMeta is what every request of revision 2026-07-28 has.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func (c *webClient) send(t *testing.T, method, params string) json.RawMessage {
	t.Helper()
	c.ids++
	modern := c.revision == mcp.Revision20260728
	if modern {
		if params = strings.TrimPrefix(params, "{"); params != "}" {
			params = "," + params
		}
		params = "{" + modernMeta + params
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.ids, method, params)
	r := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if modern {
		var p struct{ Name string }
		_ = json.Unmarshal([]byte(params), &p)
		r.Header.Set("Mcp-Protocol-Version", c.revision)
		r.Header.Set("Mcp-Method", method)
		r.Header.Set("Mcp-Name", p.Name)
	} else if c.session != "" {
		r.Header.Set("Mcp-Protocol-Version", c.revision)
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	resp := assert.Value(c.http.Do(r))(t)
	defer resp.Body.Close()
	answer := assert.Value(io.ReadAll(resp.Body))(t)
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.SplitSeq(string(answer), "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok && data != "" {
				answer = []byte(data)
			}
		}
	}
	return resultOf(t, answer)
}

func resultOf(t *testing.T, answer []byte) json.RawMessage {
	t.Helper()
	var m struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(answer, &m); err != nil || m.Result == nil {
		t.Fatalf("got %.500s, want a result", answer)
	}
	return m.Result
}

// A pipeClient speaks to ServeStdio.
type pipeClient struct {
	to   io.Writer
	from *bufio.Reader
	ids  int
}

func newPipeClient(t *testing.T, g *gateway.Gateway, path string) *pipeClient {
	fromClient, to := io.Pipe()
	from, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- g.ServeStdio(context.Background(), path, fromClient, toClient) }()
	c := &pipeClient{to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		_ = to.Close()
		var rest sync.WaitGroup
		rest.Go(func() { _, _ = io.Copy(io.Discard, c.from) })
		if err := <-served; err != nil {
			t.Errorf("got %v, want an end in good order", err)
		}
		_ = toClient.Close()
		rest.Wait()
	})
	c.send(t, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`)
	return c
}

func (c *pipeClient) send(t *testing.T, method, params string) json.RawMessage {
	t.Helper()
	c.ids++
	params = strings.NewReplacer("\r", " ", "\n", " ").Replace(params)
	assert.Value(fmt.Fprintf(c.to, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.ids, method, params))(t)
	for {
		line := assert.Value(c.from.ReadBytes('\n'))(t)
		if bytes.Contains(line, []byte(`"id":`)) { // else it is a notification
			return resultOf(t, line)
		}
	}
}

// Definitions, arguments and results pass token by token as they were written, whatever they are.
// MCPBELT_SOAK=1 makes 100,000 of each.
func TestTokensAreKept(t *testing.T) {
	count := 200
	if os.Getenv("MCPBELT_SOAK") != "" {
		count = 100_000
	}
	for _, way := range []string{"http 2025-11-25", "http 2026-07-28", "stdio", "http 2025-11-25 search", "http 2026-07-28 search"} {
		t.Run(way, func(t *testing.T) {
			for first := 0; first < count; first += wildtest.Page {
				keepsTokens(t, way, uint64(first), min(wildtest.Page, count-first))
			}
		})
	}
}

func keepsTokens(t *testing.T, way string, first uint64, count int) {
	upstream := httptest.NewServer(wildtest.Handler(first))
	defer upstream.Close()
	t.Run("", func(t *testing.T) {
		url, g := newGateway(t, nil, "wild", fmt.Sprintf(`{"type":"http","url":"%s/json","trust":true}`, upstream.URL))
		var c rawClient
		way, searches := strings.CutSuffix(way, " search")
		path := "/s/wild/mcp/direct"
		if searches {
			path = "/s/wild/mcp/search"
		}
		if kind, revision, _ := strings.Cut(way, " "); kind == "http" {
			c = newWebClient(t, url+path, revision)
		} else {
			c = newPipeClient(t, g, path)
		}
		var list struct{ Tools []json.RawMessage }
		assert.OK(t, json.Unmarshal(c.send(t, "tools/list", "{}"), &list))
		defined := map[string]json.RawMessage{}
		for _, raw := range list.Tools {
			var d struct{ Name string }
			_ = json.Unmarshal(raw, &d)
			defined[d.Name] = raw
		}
		for i := range uint64(count) {
			seed := first + i
			name := fmt.Sprintf("t%d", seed)
			if err := wildtest.SameTokens(defined[name], []byte(wildtest.Tool(seed))); err != nil && !searches {
				t.Fatalf("definition %d: %v", seed, err)
			}
			args := wildtest.Arguments(seed)
			call := fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args)
			if searches {
				call = fmt.Sprintf(`{"name":"call_tool","arguments":{"tool":%q,"arguments":%s}}`, name, args)
			}
			got := c.send(t, "tools/call", call)
			want := wildtest.Result(seed, args)
			if strings.HasSuffix(way, mcp.Revision20260728) {
				want = `{"resultType":"complete",` + strings.TrimLeft(strings.TrimPrefix(want, "{"), " \t")
			}
			if err := wildtest.SameTokens(got, []byte(want)); err != nil {
				t.Fatalf("result %d: %v", seed, err)
			}
		}
	})
}

// Arguments with a key twice are refused, on every path.
func TestDuplicateKeysAreRefused(t *testing.T) {
	upstream := httptest.NewServer(wildtest.Handler(0))
	defer upstream.Close()
	t.Run("", func(t *testing.T) {
		url, _ := newGateway(t, nil, "wild", fmt.Sprintf(`{"type":"http","url":"%s/json"}`, upstream.URL))
		for _, path := range []string{"/mcp", "/s/wild/mcp", "/mcp/tools/call"} {
			body := ""
			post(t, url+path, "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"any","arguments":{"a":1,"a":2}}}`, &body)
			assert.Contains(t, body, `"code":-32700`, "%s", path)
		}
	})
}
