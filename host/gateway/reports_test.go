// Tests of call.go, ask.go, catalogue.go and content.go: what servers say reaches clients as they say it, by public reports.

package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A rawServer is a server whose messages are written out: results by method or, of calls and reads, by what they name.
// In the course of a call it sends what sends has for the tool first. Answers of the client are the text of the result.
type rawServer struct{ results, sends map[string]string }

func (s *rawServer) Connect(ctx context.Context) (mcp.Conn, error) {
	here, there := sdk.NewInMemoryTransports()
	conn, err := there.Connect(ctx)
	if err != nil {
		return nil, err
	}
	go s.serve(conn)
	return here.Connect(ctx)
}

func (s *rawServer) serve(conn sdk.Connection) {
	var answers sync.Map // channels of texts, by id
	for {
		m, err := conn.Read(context.Background())
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *jsonrpc.Response:
			if waits, ok := answers.Load(fmt.Sprint(m.ID.Raw())); ok {
				text := string(m.Result)
				if m.Error != nil {
					text = m.Error.Error()
				}
				waits.(chan string) <- text
			}
		case *jsonrpc.Request:
			if m.IsCall() {
				go s.answer(conn, m, &answers)
			}
		}
	}
}

func (s *rawServer) answer(conn sdk.Connection, m *jsonrpc.Request, answers *sync.Map) {
	var named struct{ Name, URI string }
	_ = json.Unmarshal(m.Params, &named)
	resp := &jsonrpc.Response{ID: m.ID}
	var texts []string
	for i, line := range strings.Split(strings.TrimSpace(s.sends[named.Name]), "\n") {
		method, params, ok := strings.Cut(line, " ")
		if !ok {
			break
		}
		req := &jsonrpc.Request{Method: method, Params: json.RawMessage(params)}
		if strings.HasPrefix(method, "notifications/") {
			_ = conn.Write(context.Background(), req)
			continue
		}
		waits := make(chan string, 1)
		id := fmt.Sprint(named.Name, i, m.ID.Raw())
		req.ID = must(jsonrpc.MakeID(id))
		answers.Store(id, waits)
		_ = conn.Write(context.Background(), req)
		texts = append(texts, <-waits)
	}
	switch result := s.results[strings.TrimSpace(m.Method+" "+named.Name+named.URI)]; {
	case result != "":
		resp.Result = json.RawMessage(result)
	case m.Method == "tools/call":
		resp.Result, _ = json.Marshal(&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(texts, "\n")}}})
	case s.results[m.Method] != "":
		resp.Result = json.RawMessage(s.results[m.Method])
	case m.Method == "initialize":
		resp.Result = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true},"logging":{},"completions":{}},"serverInfo":{"name":"raw","version":"1"}}`)
	case m.Method == "resources/read":
		resp.Error = &jsonrpc.Error{Code: -32002, Message: "no such resource"}
	case strings.HasSuffix(m.Method, "/list"):
		resp.Result = json.RawMessage(`{"tools":[],"resources":[],"resourceTemplates":[]}`)
	default:
		resp.Result = json.RawMessage(`{}`)
	}
	_ = conn.Write(context.Background(), resp)
}

// toolsNamed returns the result of tools/list with tools of the given names.
func toolsNamed(names ...string) string {
	var tools []string
	for _, name := range names {
		tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
	}
	return `{"tools":[` + strings.Join(tools, ",") + `]}`
}

// openRaw opens a site with raw servers.
func openRaw(t testing.TB, servers map[string]*rawServer) *site {
	var names []string
	for name := range servers {
		names = append(names, name)
	}
	return new(site).open(t, &host.Options{StateDir: host.NoState, OpenWait: -1, Client: mcp.ClientOptions{ProtocolVersion: mcp.Revision20251125},
		Transport: func(_ session.Key, s *config.Server) (mcp.Transport, error) { return servers[s.Name], nil }}, nil, commands(names...)...)
}

const allCaps = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`

// beginWith initializes the connection of a client with capabilities.
func (c *stdioClient) beginWith(t testing.TB, caps string) {
	t.Helper()
	c.do(t, "initialize", `"protocolVersion":"2025-11-25","capabilities":`+caps+`,"clientInfo":{"name":"kit","version":"1"}`)
}

// What a server asks reaches the client token by token, and the answer the server; nothing appears and nothing vanishes.
func TestServerRequestsPass(t *testing.T) {
	const form = `"requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}}}`
	for name, c := range map[string]struct{ method, params, want, answer string }{
		//report: Gateway | higress-group/higress#3685, PrefectHQ/fastmcp#3169, IBM/mcp-context-forge#1985 | a server leaves out the mode of an elicitation, as all of 2025-06-18 do | the client is asked without a mode; the official TypeScript client refuses an empty one
		"no mode": {"elicitation/create", `{"message":"m",` + form + `}`, "", `{"action":"accept","content":{"colour":"red"}}`},
		"mode":    {"elicitation/create", `{"mode":"form","message":"m",` + form + `}`, "", `{"action":"cancel"}`},
		//report: Gateway | tmustier/codex-computer-use-mcp#2, archestra-ai/archestra#5494 | a bridge forwards questions, and the metadata in them and in the answers | members of _meta that are not between neighbours, and members that nobody knows, pass both ways
		"unknown members": {
			"elicitation/create", `{"message":"m",` + form + `,"x":9007199254740993,"_meta":{"progressToken":1,"a/b":{"n":1.0}}}`,
			`{"_meta":{"a/b":{"n":1.0}},"message":"m",` + form + `,"x":9007199254740993}`, `{"action":"accept","content":{"n":9007199254740993,"z":null},"_meta":{"k":[1.50]},"y":1}`,
		},
		//report: Gateway | BerriAI/litellm#23761, IBM/mcp-context-forge#4445 | a gateway has no way back for sampling, so servers that need a model hang | sampling/createMessage goes to the client whose call caused it, with tools if the client takes them, and its answer back as it is
		"sampling": {
			"sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":"hi","annotations":{"priority":0.10}}}],"maxTokens":10,"tools":[{"name":"t","inputSchema":{"type":"object"},"x":1}]}`, "",
			`{"role":"assistant","model":"m","content":[{"type":"text","text":"yes"}],"stopReason":"endTurn","usage":{"in":1.0}}`,
		},
	} {
		want := c.want
		if want == "" {
			want = c.params
		}
		s := openRaw(t, map[string]*rawServer{"raw": {results: map[string]string{"tools/list": toolsNamed("ask")}, sends: map[string]string{"ask": c.method + " " + c.params}}})
		client := s.stdio(t, "")
		client.beginWith(t, allCaps)
		client.say(t, callOf(7, "tools/call", "{"+toolParams("raw__ask", `{}`)+"}"))
		q := client.message(t)
		assert.Equal(t, q.Method, c.method, "%s: the method", name)
		assert.Equal(t, string(q.Params), want, "%s: the request", name)
		client.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, c.answer))
		assert.Equal(t, client.message(t).text(), c.answer, "%s: the answer", name)
	}
}

// A server that does not say in the course of which call it asks reaches the client if all calls are of one session.
func TestQuestionsOfOneSession(t *testing.T) {
	//report: Gateway | sandialabs/atlas-ui-3#295, stacklok/toolhive#5939 | a server over stdio asks while another call of the same client is under way | the client is asked; if calls of several clients are under way no one is, since another user must not see the question
	raw := &rawServer{results: map[string]string{"tools/list": toolsNamed("ask")}, sends: map[string]string{"ask": `elicitation/create {"message":"m","requestedSchema":{"type":"object","properties":{}}}`}}
	for _, sessions := range []int{1, 2} {
		s := openRaw(t, map[string]*rawServer{"raw": raw})
		first := s.stdio(t, "")
		clients := []*stdioClient{first, first}
		first.beginWith(t, allCaps)
		if sessions == 2 {
			clients[1] = s.stdio(t, "")
			clients[1].beginWith(t, allCaps)
		}
		first.say(t, callOf(7, "tools/call", "{"+toolParams("raw__ask", `{}`)+"}"))
		assert.Equal(t, first.message(t).Method, "elicitation/create", "the only call of %d sessions", sessions)
		clients[1].say(t, callOf(8, "tools/call", "{"+toolParams("raw__ask", `{}`)+"}"))
		m := clients[1].message(t)
		if sessions == 1 {
			assert.Equal(t, m.Method, "elicitation/create", "the second call of one session")
		} else {
			assert.Contains(t, m.text(), "not known which call", "a call beside that of another session")
		}
	}
}

// A client that sets no level gets the log messages of its calls as the server sends them; one that does, those of the level.
func TestLogsUnasked(t *testing.T) {
	//report: Gateway | Kuadrant/mcp-gateway#407, PrefectHQ/fastmcp#4161, stacklok/toolhive#5768, stacklok/toolhive#5748 | a client never sends logging/setLevel, and a server logs in the course of its calls | the client gets the messages token by token, as it does from the server itself; with a level, those of the level
	raw := &rawServer{results: map[string]string{"tools/list": toolsNamed("talk")}, sends: map[string]string{"talk": "notifications/message " + `{"level":"debug","data":{"n":1.0},"x":1}` + "\n" + "notifications/message " + `{"level":"error","logger":"l","data":"b","_meta":{"progressToken":1}}`}}
	for level, want := range map[string]string{"": `{"level":"debug","data":{"n":1.0},"x":1} {"level":"error","logger":"l","data":"b"} `, "warning": `{"level":"error","logger":"l","data":"b"} `} {
		c := openRaw(t, map[string]*rawServer{"raw": raw}).stdio(t, "")
		c.begin(t)
		if level != "" {
			c.do(t, "logging/setLevel", fmt.Sprintf(`"level":%q`, level))
		}
		c.say(t, callOf(9, "tools/call", "{"+toolParams("raw__talk", `{}`)+"}"))
		got := ""
		for m := c.message(t); m.ID == nil; m = c.message(t) {
			got += string(m.Params) + " "
		}
		assert.Equal(t, got, want, "level %q", level)
	}
}

// normal returns what parsers of URLs make of an address: those of browsers and pydantic write some bytes as their numbers.
func normal(t *testing.T, address string) []string {
	u, err := url.Parse(address)
	assert.OK(t, err, "%s", address)
	return []string{address, u.String(), strings.NewReplacer("ü", "%C3%BC", " ", "%20", `"`, "%22").Replace(address)}
}

// Whatever servers and their resources are called, what the lists say is read, followed and completed, also when a
// client has parsed it and written it again.
func TestAddressesOfLists(t *testing.T) {
	//report: Gateway | modelcontextprotocol/go-sdk#365, paulieb89/uk-legal-mcp#2, envoyproxy/ai-gateway#2412, Kuadrant/mcp-gateway#1339 | a client parses the addresses of resources as URLs, and writes them as its parser does; names of servers have underscores, digits and capitals | addresses are URIs whatever the server is called, `mcpbelt:server/uri`, and lead to the resource after a pass through a parser
	for _, server := range []string{"github", "my_charts", "9lives", "A-b", "ui"} {
		for _, uri := range []string{"file:///a", "memo://a/b?x=1#y", "memo://file:///a//../b", "urn:isbn:1", "https://x.example/a b?q=\"1\"", "file:///ü", "MEMO://Host/%2F", "ui://clock/view.html", "ui://x", "a_b://c", "plain"} {
			raw := &rawServer{results: map[string]string{
				"resources/list": fmt.Sprintf(`{"resources":[{"name":"r","uri":%q}]}`, uri), "resources/read " + uri: fmt.Sprintf(`{"contents":[{"uri":%q,"text":"it"}]}`, uri),
			}}
			c := openRaw(t, map[string]*rawServer{server: raw}).stdio(t, "")
			c.begin(t)
			listed := c.do(t, "resources/list", "").at("resources")
			var list []struct{ URI string }
			assert.OK(t, json.Unmarshal([]byte(listed), &list))
			if len(list) != 1 {
				t.Fatalf("%s of %s: got %s, want one", uri, server, listed)
			}
			address := list[0].URI
			if strings.HasPrefix(uri, "ui:") {
				assert.Contains(t, address, "ui://"+server+"/", "the scheme of a page stays")
			}
			called := normal(t, address)
			if server != "ui" { // else that is an address of another kind
				called = append(called, server+"://"+uri) // as people write it
			}
			for _, called := range called {
				m := c.do(t, "resources/read", fmt.Sprintf(`"uri":%q`, called))
				assert.Equal(t, m.at("contents"), fmt.Sprintf(`[{"uri":%q,"text":"it"}]`, called), "%s of %s read as %s (%+v)", uri, server, called, m.Error)
				assert.Equal(t, c.do(t, "completion/complete", fmt.Sprintf(`"ref":{"type":"ref/resource","uri":%q},"argument":{"name":"a","value":"b"}`, address)).code() == -32002, false, "%s completed", address)
			}
		}
	}
}

// What servers name outside of lists leads back to the server that named it.
func TestAddressesOutsideOfLists(t *testing.T) {
	page := func(uri, text string) map[string]string {
		return map[string]string{
			"tools/list":            fmt.Sprintf(`{"tools":[{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":%q,"x":1},"openai/outputTemplate":%[1]q,"ui/resourceUri":%[1]q}},{"name":"link","inputSchema":{"type":"object"}}]}`, uri),
			"resources/read " + uri: fmt.Sprintf(`{"contents":[{"uri":%q,"text":%q}]}`, uri, text),
		}
	}
	one, two := page("ui://app/main.html", "one"), page("ui://app/main.html", "two")
	two["resources/read made://up"] = `{"contents":[{"uri":"made://up","text":"two's"}]}`
	s := openRaw(t, map[string]*rawServer{"my_one": {results: one}, "two": {results: two}})
	c := s.connect(t, &client{})
	//report: Gateway | envoyproxy/ai-gateway#2228, agentgateway/agentgateway#1143 | two servers have a page of MCP Apps at the same URI, which no list has | `_meta` of each tool names the address of its own page, whose scheme is ui still, and each is read
	for server, text := range map[string]string{"my_one": "one", "two": "two"} {
		tool := c.tools(t)[server+"__show"]
		address := content.Address(server, "ui://app/main.html")
		assert.Contains(t, string(tool), fmt.Sprintf(`"_meta":{"ui":{"resourceUri":%q,"x":1},"openai/outputTemplate":%[1]q,"ui/resourceUri":%[1]q}`, address), "the tool of %s", server)
		assert.Contains(t, c.do(t, "resources/read", fmt.Sprintf(`"uri":%q`, address)).at("contents"), text, "the page of %s", server)
		own := s.connect(t, &client{path: "/s/" + server + "/mcp"})
		assert.Contains(t, string(own.tools(t)["show"]), `"ui":{"resourceUri":"ui://app/main.html"`, "in the view of %s alone", server)
	}
	//report: Gateway | BerriAI/litellm#34906, BerriAI/litellm#34909 | a result links to a resource that no list has, and there are several servers | the servers of the view are asked for it one after the other
	assert.Contains(t, c.do(t, "resources/read", `"uri":"made://up"`).at("contents"), "two's", "a resource that a result names")
	//report: Gateway | grafana/mcp-grafana#887 | contents that were read have the server's own URI, by which the client cannot read again | contents have the address by which they were read
	assert.Contains(t, c.do(t, "resources/read", `"uri":"mcpbelt:two/made://up"`).at("contents"), `"uri":"mcpbelt:two/made://up"`)
	assert.Equal(t, c.do(t, "resources/read", `"uri":"made://down"`).code(), -32002, "what no server has")
}

// A program that serves a client over stdio does not outlive it, whatever is under way.
func TestStdioClientIsGone(t *testing.T) {
	for name, gone := range map[string]func(*stdioClient){
		//report: Gateway | cyanheads/mcp-ts-core#321, modelcontextprotocol/python-sdk#2231, likec4/likec4#3092, modelcontextprotocol/typescript-sdk#2002 | the client of a server over stdio is killed in the middle of a call, so the input ends | what is under way has 3 s to be answered, is cancelled then, and serve ends
		"input ends": func(c *stdioClient) { _ = c.in.Close() },
		//report: Gateway | web-infra-dev/midscene#2157, codefuturist/email-mcp#60 | the client's end of the pipe breaks while the server writes to it | serve ends at once, and takes its servers with it
		"input ends and output breaks": func(c *stdioClient) { _ = c.in.Close(); _ = c.reads.Close() },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := openInMemory(t, nil)
			c := s.stdio(t, "")
			c.begin(t)
			c.say(t, callOf(2, "tools/call", "{"+toolParams("one__wait", `{}`)+`,"_meta":{"progressToken":1}}`))
			synctest.Wait()
			began := time.Now()
			gone(c)
			<-c.ended
			assert.True(t, time.Since(began) < 5*time.Second, "%s: it took %v", name, time.Since(began))
			synctest.Wait()
			assert.Equal(t, s.server.waited.Load(), 1, "%s: cancelled calls", name)
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
