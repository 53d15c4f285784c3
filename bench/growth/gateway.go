package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// What clients of a gateway do, and in which revision.
const (
	oldIdle   = "2025-11-25"
	oldListen = "2025-11-25, listens"
	newListen = "2026-07-28, listens"
	newIdle   = "2026-07-28"
)

// sessions has N clients of a gateway do nothing.
func sessions() axis {
	return axis{
		name: "sessions", counts: "clients of a gateway",
		about: "N clients of a gateway over HTTP do nothing: they have a session, or hold a listening stream open, each on a " +
			"connection of its own. The gateway is a process, and what it holds is counted. A client of revision 2026-07-28 without a stream leaves nothing behind.",
		subjects: []string{oldIdle, oldListen, newListen}, sizes: []int{100, 1_000, 4_000},
		plots:   []string{"resident, MB", "heap, MB"},
		measure: measureSessions,
	}
}

// hop has N clients of a gateway call one server.
func hop() axis {
	return axis{
		name: "gateway", counts: "callers",
		about: "N clients of a gateway call one server over HTTP at the same time, for a second after a fifth. The gateway is a " +
			"process, whose processor time is counted; the clients and the server share the cores with it.",
		subjects: []string{oldIdle, newIdle}, sizes: []int{1, 8, 64, 512},
		plots:   []string{"CPU per call, µs", "calls/s"},
		measure: measureHop,
	}
}

// runGateway is the process of a gateway. It serves the server at a URL, and tells its weight at /weight.
func runGateway(args []string, stdout io.Writer) (err error) {
	if len(args) != 1 {
		return errors.New("gateway: want the URL of its server")
	}
	ctx := context.Background()
	o := &host.Options{StateDir: host.NoState}
	gateway.Prepare(o)
	h, err := applied(ctx, o, httpEntry(args[0]))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	g, err := gateway.New(h, &gateway.Options{Anonymous: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	mux := http.NewServeMux()
	mux.Handle("/", g)
	mux.HandleFunc("/weight", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(weigh()) // a client that is gone needs none
	})
	return serveUntilEnd(&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}, os.Stdin, stdout)
}

// A gatewayProcess is a gateway with a server, each a process of its own.
type gatewayProcess struct {
	*webServer
	upstream *webServer
	client   *http.Client
}

func startGateway(path string) (*gatewayProcess, error) {
	upstream, err := startWebServer(roleServer, "http")
	if err != nil {
		return nil, err
	}
	g, err := startWebServer(roleGateway, upstream.at(path))
	if err != nil {
		return nil, errors.Join(err, upstream.close())
	}
	return &gatewayProcess{g, upstream, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}}, nil
}

func (g *gatewayProcess) close() error {
	g.client.CloseIdleConnections()
	return errors.Join(g.webServer.close(), g.upstream.close())
}

// weight asks the gateway what it holds.
func (g *gatewayProcess) weight() (w weight, err error) {
	res, err := g.client.Get(g.at("weight"))
	if err != nil {
		return w, err
	}
	err = json.NewDecoder(res.Body).Decode(&w)
	return w, errors.Join(err, res.Body.Close())
}

// A remote is a client of a gateway that has no SDK.
type remote struct {
	gateway *gatewayProcess
	modern  bool
	session string
}

const (
	initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"growth","version":"1"}}}`
	modernMeta     = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

// enter begins a session, in the revision that has some.
func (g *gatewayProcess) enter(ctx context.Context, modern bool) (*remote, error) {
	c := &remote{gateway: g, modern: modern}
	if modern {
		return c, nil
	}
	res, err := c.do(ctx, http.MethodPost, "initialize", "", initializeBody)
	if err != nil {
		return nil, err
	}
	c.session = res.Header.Get("Mcp-Session-Id")
	_, err = io.Copy(io.Discard, res.Body)
	return c, errors.Join(err, res.Body.Close())
}

// do makes a request. Its answer has status 200.
func (c *remote) do(ctx context.Context, method, mcpMethod, name, body string) (*http.Response, error) {
	r, err := c.request(ctx, method, mcpMethod, name, body)
	if err != nil {
		return nil, err
	}
	res, err := c.gateway.client.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 200))
		return nil, errors.Join(fmt.Errorf("%s: got status %d, want 200: %s", mcpMethod, res.StatusCode, text), res.Body.Close())
	}
	return res, nil
}

func (c *remote) request(ctx context.Context, method, mcpMethod, name, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.gateway.at("mcp"), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	switch {
	case c.modern:
		r.Header.Set("Mcp-Protocol-Version", mcp.Revision20260728)
		r.Header.Set("Mcp-Method", mcpMethod)
		r.Header.Set("Mcp-Name", name)
	case c.session != "":
		r.Header.Set("Mcp-Protocol-Version", mcp.Revision20251125)
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	return r, nil
}

// call calls the tool text.
func (c *remote) call(ctx context.Context) error {
	const name = "s000__text"
	params := `"name":"` + name + `","arguments":{"bytes":20}`
	if c.modern {
		params += "," + modernMeta
	}
	res, err := c.do(ctx, http.MethodPost, "tools/call", name, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{`+params+`}}`)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	if err == nil && !strings.Contains(string(text), strings.Repeat("x", 20)) {
		err = fmt.Errorf("got %.200s, want a text of 20 bytes", text)
	}
	return errors.Join(err, res.Body.Close())
}

// listen opens a listening stream on a connection of its own, and returns that when the answer has begun.
func (c *remote) listen(ctx context.Context) (net.Conn, error) {
	var r *http.Request
	var err error
	if c.modern {
		const body = `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`
		r, err = c.request(ctx, http.MethodPost, "subscriptions/listen", "", body)
		r.Header.Del("Mcp-Name")
	} else {
		r, err = c.request(ctx, http.MethodGet, "", "", "")
	}
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.URL.Host)
	if err != nil {
		return nil, err
	}
	if err = r.Write(conn); err == nil {
		var line string
		if line, err = bufio.NewReaderSize(conn, 64).ReadString('\n'); err == nil && !strings.Contains(line, " 200 ") {
			err = fmt.Errorf("a stream: got %q, want status 200", line)
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func measureSessions(ctx context.Context, p point) (f figures, err error) {
	g, err := startGateway("mcp")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	modern, listens := p.Subject == newListen, p.Subject != oldIdle
	streams := make([]net.Conn, 0, p.N)
	defer func() {
		for _, conn := range streams {
			err = errors.Join(err, conn.Close())
		}
	}()
	enter := func() error {
		c, err := g.enter(ctx, modern)
		if err != nil || !listens {
			return err
		}
		conn, err := c.listen(ctx)
		if err == nil {
			streams = append(streams, conn)
		}
		return err
	}
	if err := enter(); err != nil {
		return nil, err
	}
	before, err := g.weight()
	if err != nil {
		return nil, err
	}
	for range p.N {
		if err := enter(); err != nil {
			return nil, err
		}
	}
	after, err := g.weight()
	f = figures{}
	f.between(before, after)
	return f, err
}

func measureHop(ctx context.Context, p point) (f figures, err error) {
	g, err := startGateway("mcp")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	remotes := make([]*remote, p.N)
	for i := range remotes {
		if remotes[i], err = g.enter(ctx, p.Subject == newIdle); err != nil {
			return nil, err
		}
	}
	all := func(span time.Duration) (calls int, took float64, err error) {
		made, errs := make([]int, p.N), make([]error, p.N)
		var wg sync.WaitGroup
		begin := time.Now()
		for i, c := range remotes {
			wg.Go(func() {
				for errs[i] == nil && time.Since(begin) < span {
					errs[i] = c.call(ctx)
					made[i]++
				}
			})
		}
		wg.Wait()
		for _, n := range made {
			calls += n
		}
		return calls, time.Since(begin).Seconds(), errors.Join(errs...)
	}
	if _, _, err := all(200 * time.Millisecond); err != nil {
		return nil, err
	}
	before, err := g.weight()
	if err != nil {
		return nil, err
	}
	calls, took, err := all(time.Second)
	if err != nil {
		return nil, err
	}
	after, err := g.weight()
	return figures{
		"calls/s":          float64(calls) / took,
		"CPU per call, µs": 1e6 * (after.CPU - before.CPU) / float64(calls),
	}, err
}
