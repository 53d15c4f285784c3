package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const asMain = "FEATURES_TEST_MAIN" // makes the test program the server

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// program returns a command that runs the server.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(assert.Value(os.Executable())(t), args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	return cmd
}

const (
	legacy = "2025-11-25"

	capabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
)

// A peer is a client that writes its messages by hand.
type peer struct {
	t        *testing.T
	revision string
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Scanner
	ids      int
	hello    string // the result of the handshake

	// answers gives the results of the server's own requests, by method.
	answers map[string]func(params string) string
	// notes are the notifications that came, as method and parameters.
	notes []string
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// dial runs the binary and makes the handshake of the revision.
func dial(t *testing.T, revision string, args ...string) *peer {
	t.Helper()
	p := &peer{t: t, revision: revision, cmd: program(t, args...), answers: make(map[string]func(string) string)}
	p.cmd.Stderr = os.Stderr
	p.in = assert.Value(p.cmd.StdinPipe())(t)
	out := assert.Value(p.cmd.StdoutPipe())(t)
	p.out = bufio.NewScanner(out)
	assert.OK(t, p.cmd.Start())
	t.Cleanup(func() {
		p.in.Close()
		for p.out.Scan() { // to the end
		}
		assert.OK(t, p.cmd.Wait(), "end of input")
	})
	if revision == legacy {
		p.hello = p.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"peer","version":"1"}}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	} else {
		p.hello = p.call("server/discover", `{}`)
	}
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	assert.Value(io.WriteString(p.in, strings.ReplaceAll(line, "\n", "")+"\n"))(p.t)
}

// request sends a request with what its revision adds to the parameters.
func (p *peer) request(method, params string) (id string) {
	p.t.Helper()
	if p.revision != legacy {
		params = withMeta(params)
	}
	p.ids++
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.ids, method, params))
	return fmt.Sprint(p.ids)
}

func withMeta(params string) string {
	meta := `"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientInfo":{"name":"peer","version":"1"},
		"io.modelcontextprotocol/logLevel":"info",
		"io.modelcontextprotocol/clientCapabilities":` + capabilities
	if strings.Contains(params, `"_meta":{`) {
		return strings.Replace(params, `"_meta":{`, `"_meta":{`+meta+`,`, 1)
	}
	if params == `{}` {
		return `{"_meta":{` + meta + `}}`
	}
	return strings.Replace(params, `{`, `{"_meta":{`+meta+`},`, 1)
}

// read returns the next response or notification; requests it answers.
func (p *peer) read() message {
	p.t.Helper()
	for p.out.Scan() {
		var m message
		assert.OK(p.t, json.Unmarshal(p.out.Bytes(), &m), "%s", p.out.Bytes())
		if m.Method == "" || m.ID == nil {
			return m
		}
		answer, ok := p.answers[m.Method]
		if !ok {
			p.t.Fatalf("the server asked for %s %s", m.Method, m.Params)
		}
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer(string(m.Params))))
	}
	p.t.Fatalf("the server ended: %v", p.out.Err())
	return message{}
}

// response waits for the response with an id, and returns its result or error.
func (p *peer) response(id string) (result, err string) {
	p.t.Helper()
	for {
		m := p.read()
		if m.Method != "" {
			p.notes = append(p.notes, fmt.Sprintf("%s %s", m.Method, m.Params))
			continue
		}
		if string(m.ID) == id {
			return string(m.Result), string(m.Error)
		}
	}
}

// call returns the result, which must be one.
func (p *peer) call(method, params string) string {
	p.t.Helper()
	res, err := p.response(p.request(method, params))
	assert.Equal(p.t, err, "", "%s %s", method, params)
	return res
}

// fail returns the error, which must be one.
func (p *peer) fail(method, params string) string {
	p.t.Helper()
	res, err := p.response(p.request(method, params))
	if err == "" {
		p.t.Fatalf("%s %s: %s, want an error", method, params, res)
	}
	return err
}

// ask calls a tool that asks for something, gives the answer, and returns the
// request and the result.
func (p *peer) ask(tool, method, answer string) (asked, result string) {
	p.t.Helper()
	if p.revision == legacy {
		p.answers[method] = func(params string) string { asked = params; return answer }
		return asked, p.call("tools/call", `{"name":"`+tool+`"}`)
	}
	var first struct {
		ResultType    string                     `json:"resultType"`
		InputRequests map[string]json.RawMessage `json:"inputRequests"`
		RequestState  json.RawMessage            `json:"requestState"`
	}
	p.decode(p.call("tools/call", `{"name":"`+tool+`"}`), &first)
	assert.Equal(p.t, [...]any{first.ResultType, len(first.InputRequests)}, [...]any{"input_required", 1}, "%s", tool)
	for key, request := range first.InputRequests {
		wantAll(p.t, string(request), `"method":"`+method+`"`)
		asked = string(request)
		state := ""
		if first.RequestState != nil {
			state = `,"requestState":` + string(first.RequestState)
		}
		result = p.call("tools/call", fmt.Sprintf(`{"name":%q,"inputResponses":{%q:%s}%s}`, tool, key, answer, state))
	}
	return asked, result
}

func (p *peer) decode(result string, into any) {
	p.t.Helper()
	assert.OK(p.t, json.Unmarshal([]byte(result), into), "%s", result)
}

func wantAll(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		assert.Contains(t, got, part)
	}
}

// cut returns the first text between two others.
func cut(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}

func everywhere(t *testing.T, test func(t *testing.T, p *peer)) {
	for _, revision := range []string{legacy, firstModern} {
		t.Run(revision, func(t *testing.T) { test(t, dial(t, revision)) })
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p *peer) {
		asked, res := p.ask("introduce", "elicitation/create",
			`{"action":"accept","content":{"name":"Ada","language":"fr","years":7,"newsletter":true}}`)
		wantAll(t, asked, `"mode":"form"`, `"default":"en"`, `"required":["name"]`)
		wantAll(t, res, `Voici Ada (7), who reads the newsletter.`)
		_, res = p.ask("introduce", "elicitation/create", `{"action":"decline"}`)
		wantAll(t, res, `did not want to be introduced`)

		p.call("tools/call", `{"name":"append","arguments":{"text":"it rained"}}`)
		asked, res = p.ask("summarize", "sampling/createMessage",
			`{"role":"assistant","model":"canned","content":{"type":"text","text":"Rain."}}`)
		wantAll(t, asked, `1. it rained`, `"maxTokens":100`)
		wantAll(t, res, `Summary by canned:`, `Rain.`)

		_, res = p.ask("list_roots", "roots/list", `{"roots":[{"uri":"file:///srv","name":"srv"}]}`)
		wantAll(t, res, `The client's roots:`, `file:///srv srv`)
	})
}

func TestURLElicitation(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p *peer) {
		// The user visits the page only when the client has accepted.
		visit := func(request string) {
			res := assert.Value(http.Post(cut(request, `"url":"`, `"`), "", nil))(t)
			res.Body.Close()
			assert.Equal(t, res.StatusCode, http.StatusOK, "the page answered %s", res.Status)
		}
		defer http.DefaultClient.CloseIdleConnections()
		if p.revision == legacy {
			p.answers["elicitation/create"] = func(params string) string {
				wantAll(t, params, `"mode":"url"`, `"elicitationId":"`)
				visit(params)
				return `{"action":"accept"}`
			}
			wantAll(t, p.call("tools/call", `{"name":"connect_account"}`), `The account is connected.`)
		} else {
			asked := p.call("tools/call", `{"name":"connect_account"}`)
			wantAll(t, asked, `"mode":"url"`, `"elicitationId":"`)
			state := cut(asked, `"requestState":"`, `"`)
			visit(asked)
			retry := `{"name":"connect_account","requestState":"` + state + `","inputResponses":{"visit":{"action":"accept"}}}`
			wantAll(t, p.call("tools/call", retry), `The account is connected.`)
			// An invitation is good for one account.
			wantAll(t, p.call("tools/call", retry), `there is no such invitation`, `"isError":true`)
		}
		wantAll(t, strings.Join(p.notes, "\n"), `notifications/elicitation/complete {"elicitationId":"`)
	})
}

func TestProgressAndStructuredContent(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p *peer) {
		res := p.call("tools/call", `{"name":"count","arguments":{"to":3},"_meta":{"progressToken":"p"}}`)
		wantAll(t, res, `counted to 3`)
		var progress []string
		for _, n := range p.notes {
			if strings.HasPrefix(n, "notifications/progress") {
				progress = append(progress, n)
			}
		}
		assert.Equal(t, len(progress), 3)
		wantAll(t, res, `counted to 3`)
		wantAll(t, p.call("tools/call", `{"name":"count","arguments":{"to":0}}`), `"isError":true`)
		wantAll(t, p.call("tools/call", `{"name":"measure","arguments":{"text":"one two\nthree"}}`),
			`"structuredContent":{"characters":13,"lines":2,"words":3}`)
	})
}

func TestResources(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p *peer) {
		wantAll(t, p.call("resources/list", `{}`), aboutURI, journalURI)
		wantAll(t, p.call("resources/templates/list", `{}`), entryURI+"{number}")
		wantAll(t, p.call("resources/read", `{"uri":"features://about"}`), `It keeps a journal.`)
		wantAll(t, p.fail("resources/read", `{"uri":"journal://entries/1"}`), `Resource not found`)

		if p.revision == legacy {
			p.call("resources/subscribe", `{"uri":"journal://all"}`)
			p.call("logging/setLevel", `{"level":"info"}`)
		} else {
			p.request("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["journal://all"]}}`)
			for p.read().Method != "notifications/subscriptions/acknowledged" {
			}
		}
		wantAll(t, p.call("tools/call", `{"name":"append","arguments":{"text":"it rained"}}`), `"number":1`)
		notes := strings.Join(p.notes, "\n")
		wantAll(t, notes, `notifications/resources/updated`, `"uri":"journal://all"`,
			`notifications/message`, `entry 1 was written`)
		wantAll(t, p.call("resources/read", `{"uri":"journal://entries/1"}`), `it rained`)
	})
}

func TestPromptAndCompletion(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p *peer) {
		p.call("tools/call", `{"name":"append","arguments":{"text":"it rained"}}`)
		wantAll(t, p.call("prompts/list", `{}`), `"name":"review"`, `"required":true`)
		wantAll(t, p.call("prompts/get", `{"name":"review","arguments":{"topic":"the weather","language":"Deutsch"}}`),
			`Look at the weather. Answer in Deutsch.`, `1. it rained`, `"type":"resource"`)
		wantAll(t, p.fail("prompts/get", `{"name":"review"}`), `-32602`)
		wantAll(t, p.call("completion/complete",
			`{"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"language","value":"e"}}`),
			`"values":["English","Español","Esperanto"]`, `"total":3`)
		wantAll(t, p.call("completion/complete",
			`{"ref":{"type":"ref/resource","uri":"journal://entries/{number}"},"argument":{"name":"number","value":""}}`),
			`"values":["1"]`)
	})
}

func TestRevision(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", legacy} {
		p := dial(t, legacy, "-revision", revision)
		wantAll(t, p.hello, `"protocolVersion":"`+revision+`"`)
		p.revision = firstModern
		wantAll(t, p.fail("server/discover", `{}`), `-32022`, `"supported":["`+revision+`"]`)
		p.revision = legacy
		wantAll(t, p.call("tools/call", `{"name":"count","arguments":{"to":1}}`), `counted to 1`)
	}
}

// listening starts the server for HTTP and returns its address.
func listening(t *testing.T) string {
	t.Helper()
	cmd := program(t, "-http", "127.0.0.1:0")
	log := assert.Value(cmd.StderrPipe())(t)
	assert.OK(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	line, err := bufio.NewReader(log).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	assert.OK(t, err, "the server said %q", line)
	assert.True(t, ok, "the server said %q", line)
	return url
}

// post posts a message and returns the body of the response.
func post(t *testing.T, url, message string, headers ...string) string {
	t.Helper()
	message = strings.ReplaceAll(message, "\n", "")
	req := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res := assert.Value(http.DefaultClient.Do(req))(t)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	assert.OK(t, err, "%s: %s %s", message, res.Status, raw)
	assert.True(t, res.StatusCode < 300, "%s: %s %s: it is taken", message, res.Status, raw)
	return string(raw)
}
