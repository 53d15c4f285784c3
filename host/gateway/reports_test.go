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
	gone := make(chan struct{})
	defer close(gone)
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
				go s.answer(conn, m, &answers, gone)
			}
		}
	}
}

func (s *rawServer) answer(conn sdk.Connection, m *jsonrpc.Request, answers *sync.Map, gone <-chan struct{}) {
	var named struct{ Name, URI, Cursor string }
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
		select {
		case text := <-waits:
			texts = append(texts, text)
		case <-gone:
			return
		}
	}
	switch result := s.results[strings.TrimSpace(m.Method+" "+named.Name+named.URI+named.Cursor)]; {
	case result != "":
		resp.Result = json.RawMessage(strings.ReplaceAll(result, "$PARAMS", string(m.Params)))
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

// A server that answers for every URI does not take those of another.
func TestReadWhatTwoHave(t *testing.T) {
	any := map[string]string{"resources/read": `{"contents":[{"uri":"made://up","text":"any's"}]}`}
	its := map[string]string{"resources/read made://up": `{"contents":[{"uri":"made://up","text":"its"}]}`}
	c := openRaw(t, map[string]*rawServer{"any": {results: any}, "its": {results: its}}).connect(t, &client{})
	for uri, want := range map[string]string{
		"made://up":             `-32602 several servers have this resource: read one of "mcpbelt:any/made://up", "mcpbelt:its/made://up"`,
		"mcpbelt:its/made://up": `"its"`,
		"mcpbelt:any/made://up": `"any's"`,
		"mcpbelt:its/made://no": "-32002 Resource not found: mcpbelt:its/made://no", // the address names who is asked
		"made://no":             `"any's"`,
	} {
		m := c.do(t, "resources/read", fmt.Sprintf(`"uri":%q`, uri))
		got := m.at("contents")
		if m.Error != nil {
			got = fmt.Sprint(m.Error.Code, " ", m.Error.Message)
		}
		assert.Contains(t, got, want, "%s", uri)
	}
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

// rawText returns the result of tools/call with a text.
func rawText(text string) string { return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text) }

// A list of a server is read to its end, however that is said.
func TestListsInPages(t *testing.T) {
	//report: Gateway | agentgateway/agentgateway#3476, IBM/mcp-context-forge#6635, philschmid/mcp-cli#206 | a server lists in pages, the last with an empty cursor | all tools are there, each once, and no page is asked for twice
	page := func(tools, cursor string) string {
		return strings.TrimSuffix(tools, "}") + fmt.Sprintf(`,"nextCursor":%q}`, cursor)
	}
	raw := &rawServer{results: map[string]string{"tools/list": page(toolsNamed("a", "b"), "2"), "tools/list 2": page(toolsNamed("c"), "3"), "tools/list 3": page(toolsNamed("d"), "")}}
	assert.Equal(t, openRaw(t, map[string]*rawServer{"raw": raw}).connect(t, &client{}).names(t), "raw__a raw__b raw__c raw__d")
}

// Tools of the same name are told apart, and a server that fails takes nothing from others.
func TestSeveralServers(t *testing.T) {
	said := func(text string) *rawServer {
		return &rawServer{results: map[string]string{"tools/list": toolsNamed("execute_sql"), "tools/call execute_sql": rawText(text), "resources/list": `{"resources":[{"name":"r","uri":"x:1"}]}`}}
	}
	broken := said("")
	broken.results["tools/list"], broken.results["resources/list"] = `{"tools":7}`, `[]`
	c := openRaw(t, map[string]*rawServer{"ob": said("from ob"), "ck": said("from ck"), "broken": broken}).connect(t, &client{})
	//report: Gateway | samanhappy/mcphub#139, spring-projects/spring-ai#2393, Arthur-Ficial/apfel#239, docker/mcp-gateway#11, anthropics/claude-code#18472 | two servers have a tool of the same name, and calls go to one of them | the tools are `ob__execute_sql` and `ck__execute_sql`, and each call goes to its own server
	c.wantText(t, "ob__execute_sql", `{}`, "from ob")
	c.wantText(t, "ck__execute_sql", `{}`, "from ck")
	//report: Gateway | T4cceptor/centian#41, api7/aisix#661, BerriAI/litellm#31684, metatool-ai/metamcp#329 | one server fails or lists nonsense, and the lists of all others are empty | the others are listed and called, and a call of the one that fails says so
	assert.Equal(t, c.names(t), "ck__execute_sql ob__execute_sql")
	assert.Equal(t, strings.Count(c.do(t, "resources/list", "").at("resources"), `"uri"`), 2, "resources of the others")
	assert.Equal(t, c.call(t, "broken__execute_sql", `{}`).code()+len(c.call(t, "broken__execute_sql", `{}`).at("isError")) != 0, true, "a call of the one that fails: an error")
}

// Ids are those of the client that made the request, whatever others use at the same time.
func TestSameIDs(t *testing.T) {
	//report: Gateway | domdomegg/computer-use-mcp#64, abir-taheer/mcp-runner#4, agnt-gg/agnt#9 | two clients use the same ids at one time, and one gets the other's answer | each gets its own, also in the middle of the other's call
	s := openSite(t, nil)
	var all sync.WaitGroup
	for i := range assert.Cases(4, 40) {
		c, text := s.connect(t, &client{user: fmt.Sprint("u", i)}), fmt.Sprint("text of ", i)
		all.Go(func() {
			for range 5 {
				q := query{user: c.user, session: c.session, body: callOf(7, "tools/call", "{"+toolParams("one__echo", fmt.Sprintf(`{"text":%q}`, text))+"}")}
				assert.Equal(t, s.do(t, q).message(t).text(), text)
			}
		})
	}
	all.Wait()
	//report: Gateway | modelcontextprotocol/python-sdk#3137, modelcontextprotocol/typescript-sdk#2433, anthropics/claude-ai-mcp#539, cloudflare/agents#1632 | one session has two requests of the same id under way, and their answers are mixed up | the second is refused as long as the first is under way, and neither gets the answer of the other
	c := s.connect(t, &client{})
	waiting := query{user: c.user, session: c.session, body: callOf(9, "tools/call", "{"+toolParams("one__wait", `{}`)+"}")}
	all.Go(func() { s.do(t, waiting) })
	s.server.waits(t, 1)
	m := s.do(t, query{user: c.user, session: c.session, body: callOf(9, "tools/call", "{"+toolParams("one__echo", `{"text":"x"}`)+"}")}).message(t)
	assert.Equal(t, m.code(), -32600, "the code of the second: %s", m.Result)
	c.delete(t)
	all.Wait()
}

// Pings are answered in both directions.
func TestPings(t *testing.T) {
	//report: Gateway | trycua/cua#4001, Barnett-Studios/cxpak#110, vshulcz/deja-vu#1720 | a client pings to see whether the server lives, is told that there is no such method, and starts it anew | ping is answered with an empty result, before initialize, too
	raw := &rawServer{results: map[string]string{"tools/list": toolsNamed("pings")}, sends: map[string]string{"pings": "ping {}"}}
	c := openRaw(t, map[string]*rawServer{"raw": raw}).stdio(t, "")
	assert.Equal(t, string(c.do(t, "ping", "").Result), `{}`, "before initialize")
	c.begin(t)
	assert.Equal(t, string(c.do(t, "ping", "").Result), `{}`)
	//report: Gateway | modelcontextprotocol/csharp-sdk#1390, modelcontextprotocol/java-sdk#246 | a server pings its client in the course of a call | it is answered, and the client of the gateway hears nothing of it
	assert.Equal(t, c.do(t, "tools/call", toolParams("raw__pings", `{}`)).text(), `{}`)
}

// What a page in a browser needs to know is exposed to it.
func TestBrowserClients(t *testing.T) {
	//report: Gateway | envoyproxy/ai-gateway#2307, netdata/netdata#22258, wanaku-ai/wanaku#1303, ihor-sokoliuk/mcp-searxng#77 | a client in a browser may not send Mcp-Protocol-Version, nor read the id of its session | a preflight without a key allows all fields of the protocol, and answers expose the session, refusals, too
	s := openSite(t, nil)
	for _, method := range []string{"OPTIONS", "POST", "GET"} {
		h := s.do(t, query{method: method, user: "a", body: callOf(1, "initialize", `{}`)}.with("Origin", s.url)).header
		for _, field := range []string{"Mcp-Protocol-Version", "Mcp-Session-Id", "Last-Event-ID", "Authorization", "Mcp-Method"} {
			assert.Contains(t, h.Get("Access-Control-Allow-Headers"), field, "%s: allowed", method)
		}
		assert.Contains(t, h.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id", "%s: exposed", method)
	}
}

// A session goes on when its stream is opened anew, and one that is not known is an answer by which clients begin again.
func TestSessionsOfClients(t *testing.T) {
	//report: Gateway | markmhendrickson/neotoma#2312, markmhendrickson/neotoma#2100, modelcontextprotocol/python-sdk#1676, sparfenyuk/mcp-proxy#149 | a gateway was started anew, and answers requests of old sessions with 503 or 400, upon which clients do not begin again | 404, with which the specification has them initialize
	s := openSite(t, nil)
	for _, method := range []string{"POST", "GET", "DELETE"} {
		s.wantStatus(t, 404, query{method: method, user: "a", session: "of before", body: callOf(2, "ping", "{}")}.with("Accept", "application/json, text/event-stream"), "%s", method)
	}
	//report: Gateway | supercorp-ai/supergateway#126, supercorp-ai/supergateway#112, supercorp-ai/supergateway#138 | a client opens its stream again while the gateway still has the old one, and the gateway ends | the old stream ends, and the new one has what comes from then on
	c := s.connect(t, &client{})
	first := c.listen(t)
	second := c.listen(t)
	assert.Equal(t, first.next("data"), "", "the first stream after the second")
	addNative(t, s, "native")
	assert.Equal(t, second.message(t).Method, "notifications/tools/list_changed", "the second stream")
	//report: Gateway | fiberplane/mcp-gateway#29 | a proxy passes POST alone, so sessions neither listen nor end | GET listens, DELETE ends the session and its streams
	c.delete(t)
	assert.Equal(t, second.next("data"), "", "the stream after the end of the session")
}

// Results reach the client byte by byte.
func TestResultsPass(t *testing.T) {
	for name, result := range map[string]string{
		//report: Gateway | mcpmux/mcp-mux#206, BerriAI/litellm#17561, mcp-use/mcp-use#2562, mastra-ai/mastra#23068, stacklok/toolhive#6180 | a gateway makes a result anew of its content, so structuredContent and _meta are lost, and strict clients refuse it | results pass byte by byte
		"structured": `{"content":[{"type":"text","text":"sum","_meta":{"b":1}}],"structuredContent":{"n":9007199254740993,"f":1.0},"_meta":{"ui":{"a":[]},"x":null}}`,
		//report: Gateway | langchain-ai/langchain-mcp-adapters#619, anthropics/anthropic-sdk-python#1840 | what an error says in structuredContent is lost | it passes with isError
		"structured error": `{"isError":true,"content":[],"structuredContent":{"code":"RATE_LIMITED","retry_after":30}}`,
		//report: Gateway | giantswarm/muster#972, IBM/mcp-context-forge#4042 | blocks and members that a gateway does not know vanish | they pass as they are
		"unknown": `{"content":[{"type":"hologram","data":"x","annotations":{"audience":["user"]}},{"type":"resource_link","uri":"a:b","name":"n","icons":[{"src":"data:,"}]}],"later":{"a":1e400}}`,
	} {
		s := openRaw(t, map[string]*rawServer{"raw": &rawServer{results: map[string]string{"tools/list": toolsNamed("do"), "tools/call do": result}}})
		for _, path := range []string{"/mcp", "/s/raw/mcp"} {
			tool := map[string]string{"/mcp": "raw__do", "/s/raw/mcp": "do"}[path]
			assert.Equal(t, string(s.connect(t, &client{path: path}).call(t, tool, `{}`).Result), result, "%s at %s", name, path)
		}
	}
}

// What servers list and complete reaches the client as they wrote it, under the names of the view.
func TestListsPass(t *testing.T) {
	//report: Gateway | agentgateway/agentgateway#445, IBM/mcp-context-forge#3050, archestra-ai/archestra#3150, mastra-ai/mastra#19157 | a gateway makes what servers list anew of the members that it knows | resources, templates, prompts and tools keep the tokens of all others, and _meta; name and URI are those of the view. Icons that are neither https nor data are left out
	const more = `"title":"T","x":{"n":1.0,"e":[]},"annotations":{"priority":0.50,"y":null},"_meta":{"vendor/a":9007199254740993,"ui":{"csp":{}}}`
	raw := &rawServer{results: map[string]string{
		"initialize":               `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}},"serverInfo":{"name":"raw","version":"1"}}`,
		"resources/list":           `{"resources":[{"uri":"a:b","name":"n",` + more + `,"icons":[{"src":"data:,","z":1}]},{"uri":"a:c","name":"i","x":1,"icons":[{"src":"file:///a"}]}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n",` + more + `}]}`,
		"prompts/list":             `{"prompts":[{"name":"n","arguments":[{"name":"a","x":[1]}],` + more + `}]}`,
		"tools/list":               `{"tools":[{"name":"n","inputSchema":{"type":"object","x":1.0},` + more + `}]}`,
		//report: Gateway | IBM/mcp-context-forge#5254, IBM/mcp-context-forge#5318 | a gateway answers completion itself, or keeps the values alone | the server that has the prompt or the template is asked, and its answer passes; of more values than the protocol allows the first 100
		"completion/complete": `{"completion":{"values":["v"],"total":1.0,"x":1},"_meta":{"k":1},"y":[]}`,
	}}
	s := openRaw(t, map[string]*rawServer{"raw": raw})
	c := s.connect(t, &client{})
	for _, row := range []struct{ method, params, want string }{
		{"resources/list", "", `{"resources":[{"uri":"mcpbelt:raw/a:b","name":"raw__n",` + more + `,"icons":[{"src":"data:,","z":1}]},{"name":"raw__i","uri":"mcpbelt:raw/a:c"}]}`},
		{"resources/templates/list", "", `{"resourceTemplates":[{"uriTemplate":"mcpbelt:raw/a:{b}","name":"raw__n",` + more + `}]}`},
		{"prompts/list", "", `{"prompts":[{"name":"raw__n","arguments":[{"name":"a","x":[1]}],` + more + `}]}`},
		{"tools/list", "", `{"tools":[{"name":"raw__n","inputSchema":{"type":"object","x":1.0},` + more + `}]}`},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"raw__n"},"argument":{"name":"a","value":""}`, raw.results["completion/complete"]},
	} {
		assert.Equal(t, string(c.do(t, row.method, row.params).Result), row.want, "%s", row.method)
		if own := strings.NewReplacer("mcpbelt:raw/", "", "raw__", "").Replace(row.want); row.params == "" && row.method != "resources/list" {
			assert.Equal(t, string(s.connect(t, &client{path: "/s/raw/mcp"}).do(t, row.method, "").Result), own, "%s of the server alone", row.method)
		}
	}
}

// What a client says in _meta reaches the server with every request that has one server.
func TestMetaPasses(t *testing.T) {
	//report: Gateway | IBM/mcp-context-forge#2332, IBM/mcp-context-forge#4141 | _meta of a client reaches a server with calls of tools alone | with reads, prompts and completions, too, but for what is between neighbours
	raw := &rawServer{results: map[string]string{
		"initialize":          `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}},"serverInfo":{"name":"raw","version":"1"}}`,
		"tools/list":          toolsNamed("n"),
		"tools/call n":        `{"content":[],"got":$PARAMS}`,
		"prompts/get n":       `{"messages":[],"got":$PARAMS}`,
		"resources/read a:b":  `{"contents":[{"uri":"a:b","text":""}],"got":$PARAMS}`,
		"completion/complete": `{"completion":{"values":["v"]},"got":$PARAMS}`,
	}}
	s := openRaw(t, map[string]*rawServer{"raw": raw})
	for path, prefix := range map[string][2]string{"/mcp": {"raw__", "mcpbelt:raw/"}, "/s/raw/mcp": {}} {
		c := s.connect(t, &client{path: path})
		for _, row := range [][2]string{
			{"tools/call", fmt.Sprintf(`"name":"%sn","arguments":{}`, prefix[0])},
			{"prompts/get", fmt.Sprintf(`"name":"%sn"`, prefix[0])},
			{"resources/read", fmt.Sprintf(`"uri":"%sa:b"`, prefix[1])},
			{"completion/complete", fmt.Sprintf(`"ref":{"type":"ref/prompt","name":"%sn"},"argument":{"name":"a","value":""}`, prefix[0])},
		} {
			m := c.do(t, row[0], row[1]+`,"_meta":{"k/a":[1.0],"progressToken":"mine","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`)
			assert.Contains(t, m.at("got", "_meta"), `"k/a":[1.0]`, "%s at %s", row[0], path)
			//report: Gateway | agentgateway/agentgateway#2520, stacklok/toolhive#5758, Kuadrant/mcp-gateway#575 | the trace of a client ends at the gateway, whose servers over stdio have no fields of HTTP | traceparent in _meta reaches the server with every such request, over stdio, too
			assert.Contains(t, m.at("got", "_meta"), `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-`, "%s at %s", row[0], path)
			assert.Lacks(t, m.at("got", "_meta"), "mine", "%s at %s", row[0], path)
		}
	}
}

// Values of a completion beyond those that the protocol allows are cut off, and nothing else is changed.
func TestManyCompletions(t *testing.T) {
	for n, want := range map[int]string{100: `],"total":1.0},"x":1}`, 101: `"hasMore":true`} {
		raw := &rawServer{results: map[string]string{"completion/complete": `{"completion":{"values":["` + strings.Repeat(`v","`, n-1) + `"],"total":1.0},"x":1}`}}
		s := openRaw(t, map[string]*rawServer{"raw": raw})
		for path, prefix := range map[string]string{"/mcp": "mcpbelt:raw/", "/s/raw/mcp": ""} {
			m := s.connect(t, &client{path: path}).do(t, "completion/complete", fmt.Sprintf(`"ref":{"type":"ref/resource","uri":"%sa:{b}"},"argument":{"name":"b","value":""}`, prefix))
			assert.Equal(t, strings.Count(m.at("completion", "values"), `"`), 200, "%d at %s", n, path)
			assert.Contains(t, string(m.Result), want, "%d at %s", n, path)
		}
	}
}

// The empty lists of clients in PHP, which are empty objects, count as these.
func TestEmptyLists(t *testing.T) {
	raw := &rawServer{results: map[string]string{"tools/list": toolsNamed("do"), "tools/call do": `{"content":[],"got":$PARAMS}`}}
	s := openRaw(t, map[string]*rawServer{"raw": raw})
	for _, path := range []string{"/mcp", "/mcp/search"} {
		//report: Gateway | elgorro/aiquila#442, php-mcp/schema#2 | a client of PHP writes the params of tools/list, or the capabilities that it has without more, as an empty list | an empty list counts as an empty object; other lists are refused, as the specification has it
		c := s.connect(t, &client{path: path, caps: `{"elicitation":[],"roots":[],"experimental":[]}`})
		list := query{path: path, user: c.user, session: c.session}
		for params, code := range map[string]int{`[]`: 0, `[ ]`: 0, `[1]`: -32602} {
			list.body = callOf(9, "tools/list", params)
			assert.Equal(t, s.do(t, list).message(t).code(), code, "params %s at %s", params, path)
		}
		//report: Gateway | modelcontextprotocol/php-sdk#284, nextcloud/integration_openai#244 | a client of PHP calls a tool without arguments, and writes an empty list | the tool is called with none, by call_tool, too
		assert.Equal(t, c.call(t, "raw__do", `[]`).at("got", "arguments"), `{}`, "at %s", path)
		assert.Equal(t, c.call(t, "raw__do", `[1]`).code(), -32602, "[1] at %s", path)
		if path == "/mcp/search" {
			assert.Equal(t, c.call(t, "call_tool", `{"tool":"raw__do","arguments":[]}`).at("got", "arguments"), `{}`)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
