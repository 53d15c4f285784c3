package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

const key = "sk-test-0123456789"

// notes is the path of the notes server's binary, built once for all tests.
var notes string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		log.Fatal(err)
	}
	notes = filepath.Join(dir, "notes.exe") // a name that runs on Windows too
	if out, err := exec.Command("go", "build", "-o", notes, "../servers/notes").CombinedOutput(); err != nil {
		log.Fatalf("go build: %v\n%s", err, out)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// A reply is what the scripted endpoint answers to one request.
type reply struct {
	status int // zero is 200
	header http.Header
	body   string
}

// says is the reply of a model that sends message, the JSON of one message.
func says(message string) reply {
	return reply{body: `{"choices":[{"finish_reason":"stop","message":` + message + `}]}`}
}

// A received request, as far as tests look at it.
type received struct {
	Authorization string
	Model         string            `json:"model"`
	Messages      []json.RawMessage `json:"messages"`
	Tools         []json.RawMessage `json:"tools"`
}

func (r received) messages() string {
	var lines strings.Builder
	for _, m := range r.Messages {
		lines.Write(m)
		lines.WriteByte('\n')
	}
	return lines.String()
}

func (r received) toolNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, raw := range r.Tools {
		var tool struct{ Function struct{ Name string } }
		assert.OK(t, json.Unmarshal(raw, &tool))
		names = append(names, tool.Function.Name)
	}
	return names
}

// A model is an endpoint that plays a script, one reply for each request.
type model struct {
	url string

	mu       sync.Mutex
	script   []reply
	requests []received
}

func newModel(t *testing.T, script ...reply) *model {
	t.Helper()
	m := &model{script: script}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		req := received{Authorization: r.Header.Get("Authorization")}
		assert.Equal(t, json.NewDecoder(r.Body).Decode(&req), nil, "request")
		assert.Equal(t, [...]string{r.URL.Path, r.Method}, [...]string{"/v1/chat/completions", http.MethodPost})
		m.requests = append(m.requests, req)
		if len(m.script) == 0 {
			t.Error("one request too many")
			w.WriteHeader(http.StatusTeapot)
			return
		}
		next := m.script[0]
		m.script = m.script[1:]
		for name, values := range next.header {
			w.Header()[name] = values
		}
		if next.status != 0 {
			w.WriteHeader(next.status)
		}
		io.WriteString(w, next.body)
	}))
	t.Cleanup(server.Close)
	m.url = server.URL + "/v1/"
	return m
}

func (m *model) played() []received {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// writeConfig writes an mcp.json and returns its path.
func writeConfig(t *testing.T, commands map[string]string) string {
	t.Helper()
	type entry struct {
		Command string            `json:"command"`
		Env     map[string]string `json:"env"`
	}
	servers := make(map[string]entry)
	for name, command := range commands {
		servers[name] = entry{command, map[string]string{"GORACE": "atexit_sleep_ms=0"}}
	}
	data := assert.Value(json.Marshal(map[string]map[string]entry{"mcpServers": servers}))(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(path, data, 0o600))
	return path
}

// runAgent runs the program against a model, without a user.
func runAgent(ctx context.Context, url string, args ...string) (status int, stdout, stderr string) {
	env := map[string]string{"OPENAI_BASE_URL": url, "OPENAI_API_KEY": key + "\n", "OPENAI_MODEL": "scripted-1"}
	var out, errs bytes.Buffer
	args = append([]string{"-yes", "-browser=false"}, args...)
	status = run(ctx, args, func(name string) string { return env[name] }, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

func TestConversation(t *testing.T) {
	turns := []string{
		`{"role":"assistant","content":null,"reasoning":"kept as it is","tool_calls":[` +
			`{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":2,\"b\":40}"}},` +
			`{"id":"c2","type":"function","function":{"name":"notes__create","arguments":"{\"text\":\"Buy milk\"}"}}]}`,
		`{"role":"assistant","content":"","tool_calls":[` +
			`{"id":"c3","type":"function","function":{"name":"create","arguments":"{}"}}]}`,
		`{"role":"assistant","content":"","tool_calls":[` +
			`{"id":"c4","type":"function","function":{"name":"add","arguments":"{\"a\":\"two\",\"b\":40}"}},` +
			`{"id":"c5","type":"function","function":{"name":"notes__get","arguments":"{\"id\":"}},` +
			`{"id":"c6","type":"function","function":{"name":"notes__get","arguments":"{\"id\":\"7\"}"}},` +
			`{"id":"c7","type":"function","function":{"name":"notes__list","arguments":""}}]}`,
	}
	m := newModel(t, says(turns[0]), says(turns[1]), says(turns[2]), says(`{"role":"assistant","content":"It is 42."}`))
	status, stdout, stderr := runAgent(t.Context(), m.url, "-config", writeConfig(t, map[string]string{"notes": notes}), "What is 2 + 40?")
	assert.Equal(t, [...]any{status, stdout, stderr}, [...]any{0, "It is 42.\n", ""})

	// What each request adds to the one before, after the model's own message.
	added := []string{
		`{"role":"system","content":` + quote(t, instructions) + `}
{"role":"user","content":"What is 2 + 40?"}
`,
		`{"role":"tool","content":"42","tool_call_id":"c1"}
{"role":"tool","content":"{\"id\":\"1\",\"text\":\"Buy milk\",\"title\":\"Buy milk\"}","tool_call_id":"c2"}
`,
		`{"role":"tool","content":"The tool failed:\narguments of tool \"notes__create\": \"text\" is missing; it must be a string; \"what to write down\"","tool_call_id":"c3"}
`,
		`{"role":"tool","content":"The tool failed:\narguments of tool \"add\": \"a\" must be a number, not a string","tool_call_id":"c4"}
{"role":"tool","content":"The tool failed:\narguments of tool \"notes__get\": must be valid JSON, not unexpected end at byte 6","tool_call_id":"c5"}
{"role":"tool","content":"The tool failed:\nthere is no note \"7\"; list shows the ids","tool_call_id":"c6"}
{"role":"tool","content":"{\"notes\":[{\"id\":\"1\",\"title\":\"Buy milk\"}]}","tool_call_id":"c7"}
`,
	}
	want := ""
	requests := m.played()
	assert.Equal(t, len(requests), len(added))
	for i, got := range requests {
		if i > 0 {
			want += turns[i-1] + "\n"
		}
		want += added[i]
		assert.Equal(t, [...]string{got.messages(), got.Model}, [...]string{want, "scripted-1"}, "request %d", i+1)
		assert.Equal(t, got.Authorization, "Bearer "+key, "request %d", i+1)
		names := []string{"add", "notes__create", "notes__delete", "notes__get", "notes__list", "notes__search", "read_result"}
		assert.Equal(t, fmt.Sprintf("%q", got.toolNames(t)), fmt.Sprintf("%q", names), "request %d", i+1)
	}
	const offered = `{"type":"function","function":{"name":"notes__get","description":"Return one note with its text.","parameters":` +
		`{"type":"object","properties":{"id":{"type":"string","description":"the note's id, as create, list and search report it"}},"required":["id"],"additionalProperties":false},"strict":false}}`
	assert.Equal(t, string(requests[0].Tools[3]), offered, "offered")
}

func TestGoesOnWithoutAServer(t *testing.T) {
	m := newModel(t, says(`{"role":"assistant","content":"Yes."}`))
	path := writeConfig(t, map[string]string{"notes": notes, "gone": filepath.Join(t.TempDir(), "gone")})
	status, stdout, stderr := runAgent(t.Context(), m.url, "-config", path, "Are you there?")
	assert.Equal(t, [...]any{status, stdout}, [...]any{0, "Yes.\n"})
	assert.True(t, strings.HasPrefix(stderr, "agent: going on without server gone: "))
	assert.Equal(t, strings.Count(stderr, "\n"), 1)
	assert.True(t, slices.Contains(m.played()[0].toolNames(t), "notes__create"))
}

func TestMaxSteps(t *testing.T) {
	again := says(`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"add","arguments":"{\"a\":1,\"b\":1}"}}]}`)
	m := newModel(t, again, again)
	status, stdout, stderr := runAgent(t.Context(), m.url, "-config", writeConfig(t, nil), "-max-steps", "2", "Count.")
	assert.Equal(t, [...]any{status, stdout, stderr}, [...]any{3, "", "agent: no answer within the allowed steps (2)\n"})
	assert.Equal(t, len(m.played()), 2, "the model was asked times")
}

// A result that is too large comes in parts, which the model can ask for.
func TestMaxResult(t *testing.T) {
	long := strings.Repeat("0123456789", 500)
	m := newModel(t,
		says(`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"notes__create","arguments":"{\"text\":\"`+long+`\"}"}}]}`),
		says(`{"role":"assistant","content":"Done."}`))
	path := writeConfig(t, map[string]string{"notes": notes})
	status, _, stderr := runAgent(t.Context(), m.url, "-config", path, "-max-result", "1024", "Write.")
	assert.Equal(t, status, 0, "%s: status", stderr)
	assert.True(t, slices.Contains(m.played()[0].toolNames(t), "read_result"), "read_result is offered")
	last := string(m.played()[1].Messages[3])
	assert.True(t, len(last) <= 1400, "the result is cut")
	assert.Contains(t, last, "read_result")
	assert.Contains(t, last, "0123456789")
}

// A model that takes little is told of few tools. It finds the others, and calls them.
func TestSearch(t *testing.T) {
	turns := []string{
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"search_tools","arguments":"{\"query\":\"write down a note\",\"limit\":1}"}}]}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"c2","type":"function","function":{"name":"call_tool","arguments":"{\"name\":\"notes__create\",\"arguments\":{\"text\":\"Buy milk\"}}"}}]}`,
	}
	m := newModel(t, says(turns[0]), says(turns[1]), says(`{"role":"assistant","content":"Noted."}`))
	path := writeConfig(t, map[string]string{"notes": notes})
	status, stdout, stderr := runAgent(t.Context(), m.url, "-config", path, "-context-window", "1000", "Remember the milk.")
	assert.Equal(t, [...]any{status, stdout, stderr}, [...]any{0, "Noted.\n", ""})
	requests := m.played()
	for i, r := range requests {
		assert.Equal(t, strings.Join(r.toolNames(t), " "), "add call_tool describe_tool read_result search_tools", "request %d", i+1)
	}
	for i, want := range []string{
		`"content":"- notes__create(text: string, title?: string) [notes]`,
		`{"role":"tool","content":"{\"id\":\"1\",\"text\":\"Buy milk\",\"title\":\"Buy milk\"}","tool_call_id":"c2"}`,
	} {
		assert.Contains(t, requests[i+1].messages(), want, "request %d", i+2)
	}
	for _, tool := range requests[0].Tools {
		if strings.Contains(string(tool), `"name":"search_tools"`) && !strings.Contains(string(tool), "Servers: notes.") {
			t.Errorf("the model does not know where to search: %s", tool)
		}
	}
}

func TestInterrupt(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then the server sees the client leave
		interrupt()
		<-r.Context().Done()
	}))
	defer server.Close()
	status, stdout, _ := runAgent(ctx, server.URL, "-config", writeConfig(t, nil), "Take your time.")
	assert.Equal(t, [...]any{status, stdout}, [...]any{130, ""})
}

func TestTimeout(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer server.Close()
	status, _, stderr := runAgent(t.Context(), server.URL, "-config", writeConfig(t, nil), "-timeout", "100ms", "Hurry.")
	assert.Equal(t, status, 1)
	assert.Contains(t, stderr, context.DeadlineExceeded.Error())
}

func TestCommandLine(t *testing.T) {
	m := newModel(t)
	missing := filepath.Join(t.TempDir(), "missing.json")
	for _, c := range []struct {
		name   string
		args   []string
		status int
		stderr string
	}{
		{"no question", nil, 2, "OPENAI_MODEL"},
		{"two questions", []string{"a", "b"}, 2, "one argument"},
		{"unknown flag", []string{"-colour", "a"}, 2, "-max-steps"},
		{"missing configuration", []string{"-config", missing, "a"}, 1, missing},
	} {
		status, stdout, stderr := runAgent(t.Context(), m.url, c.args...)
		assert.Equal(t, [...]any{status, stdout}, [...]any{c.status, ""}, "%s", c.name)
		assert.Contains(t, stderr, c.stderr, "%s", c.name)
	}
}

func TestEndpointErrors(t *testing.T) {
	elsewhere := newModel(t)
	for _, c := range []struct {
		name  string
		reply reply
		want  string
	}{
		{"server error", reply{status: 500, body: `{"error":{"message":"out of order"}}`}, `the endpoint answered 500 Internal Server Error: "out of order"`},
		{"no JSON", reply{status: 502, body: "<h1>Bad\ngateway</h1>"}, `the endpoint answered 502 Bad Gateway: "<h1>Bad\ngateway</h1>"`},
		{"key in the answer", reply{status: 401, body: `{"error":{"message":"wrong key ` + key + `"}}`}, `the endpoint answered 401 Unauthorized: "wrong key [redacted]"`},
		{"too long a wait", reply{status: 429, header: http.Header{"Retry-After": {"3600"}}, body: `{"error":{"message":"tomorrow"}}`}, `the endpoint answered 429 Too Many Requests: "tomorrow"`},
		{"a redirect", reply{status: 307, header: http.Header{"Location": {elsewhere.url + "chat/completions"}}}, `the endpoint answered 307 Temporary Redirect: ""`},
		{"not a completion", reply{body: `[]`}, `the endpoint's answer is not a chat completion: json: cannot unmarshal array into Go value of type main.completion`},
		{"too long an answer", reply{body: strings.Repeat(" ", maxAnswer+1)}, `the endpoint's answer has more than 16777216 bytes`},
		{"no choice", reply{body: `{}`}, `the endpoint's answer has no choice`},
		{"nothing said", reply{body: `{"choices":[{"finish_reason":"length","message":{"role":"assistant","content":null}}]}`}, `the model's answer is empty (finish reason "length")`},
	} {
		m := newModel(t, c.reply)
		status, stdout, stderr := runAgent(t.Context(), m.url, "-config", writeConfig(t, nil), "Hello?")
		want := "agent: " + c.want + "\n"
		assert.Equal(t, [...]any{status, stdout, stderr}, [...]any{1, "", want}, "%s", c.name)
	}
}

func quote(t *testing.T, s string) string {
	t.Helper()
	return string(assert.Value(json.Marshal(s))(t))
}

func TestToolsOfTheMoment(t *testing.T) {
	r := registry.New(nil)
	// A name that the endpoint does not take.
	other := registry.MustFunc("other.tool", "", func(context.Context, struct{}) (string, error) { return "called", nil })
	set := assert.Value(profile.Compile(profile.OpenAI, []registry.Tool{other}, nil))(t)
	mended := set.Tools()[0].Name
	assert.OK(t, r.Add(registry.MustFunc("swap", "", func(context.Context, struct{}) (string, error) {
		r.Remove("swap")
		return "swapped", r.Add(other)
	})))
	m := newModel(t,
		says(`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"swap","arguments":"{}"}}]}`),
		says(`{"role":"assistant","content":"","tool_calls":[{"id":"d","type":"function","function":{"name":"`+mended+`","arguments":"{}"}}]}`),
		says(`{"role":"assistant","content":"Done."}`))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	agent := &Agent{Endpoint: &Endpoint{BaseURL: m.url, Transport: transport}, Registry: r, User: newTerminal(t.Context(), strings.NewReader(""), io.Discard, nil), MaxSteps: 3}
	answer, err := agent.Run(t.Context(), "Swap.")
	assert.Equal(t, answer, "Done.")
	assert.OK(t, err)
	requests := m.played()
	for i, want := range []string{"swap", mended, mended} {
		assert.Equal(t, strings.Join(requests[i].toolNames(t), " "), want, "request %d offers", i+1)
		assert.Equal(t, requests[i].Authorization, "", "without a key the endpoint")
	}
	assert.Equal(t, string(requests[2].Messages[5]), `{"role":"tool","content":"called","tool_call_id":"d"}`, "the call of %s", mended)
}

// noTools are the tools of an agent that knows the names of the registry.
func noTools(t *testing.T) *profile.Set {
	t.Helper()
	return assert.Value(profile.Compile(profile.OpenAI, nil, nil))(t)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// An endpoint that is busy is asked again when it allows it, or after more and more time.
func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		want   []time.Duration // when it is asked
	}{
		"it says when":    {http.Header{"Retry-After": {"5"}}, []time.Duration{0, 5 * time.Second, 10 * time.Second, 15 * time.Second}},
		"it does not say": {nil, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []time.Duration
			start := time.Now()
			endpoint := &Endpoint{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				asked = append(asked, time.Since(start))
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: c.header, Body: io.NopCloser(strings.NewReader("busy"))}, nil
			})}
			_, err := endpoint.Complete(t.Context(), nil, noTools(t))
			assert.Equal(t, assert.As[*EndpointError](t, err, "%s", name).Status, http.StatusServiceUnavailable, "%s", name)
			assert.Equal(t, fmt.Sprint(asked), fmt.Sprint(c.want), "%s", name)
		})
	}
}
