package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Errorf("request: %v", err)
		}
		if r.URL.Path != "/v1/chat/completions" || r.Method != http.MethodPost {
			t.Errorf("request to %s %s", r.Method, r.URL.Path)
		}
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
		Command string `json:"command"`
	}
	servers := make(map[string]entry)
	for name, command := range commands {
		servers[name] = entry{command}
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
	if status != 0 || stdout != "It is 42.\n" || stderr != "" {
		t.Fatalf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}

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
	if len(requests) != len(added) {
		t.Fatalf("%d requests, want %d", len(requests), len(added))
	}
	for i, got := range requests {
		if i > 0 {
			want += turns[i-1] + "\n"
		}
		want += added[i]
		assert.Equal(t, got.messages(), want, "request %d", i+1)
		if got.Model != "scripted-1" || got.Authorization != "Bearer "+key {
			t.Errorf("request %d: model %q, authorization %q", i+1, got.Model, got.Authorization)
		}
		names := []string{"add", "notes__create", "notes__delete", "notes__get", "notes__list", "notes__search", "read_result"}
		if !slices.Equal(got.toolNames(t), names) {
			t.Errorf("request %d offers %q, want %q", i+1, got.toolNames(t), names)
		}
	}
	const offered = `{"type":"function","function":{"name":"notes__get","description":"Return one note with its text.","parameters":` +
		`{"type":"object","properties":{"id":{"type":"string","description":"the note's id, as create, list and search report it"}},"required":["id"],"additionalProperties":false},"strict":false}}`
	assert.Equal(t, string(requests[0].Tools[3]), offered, "offered")
}

func TestGoesOnWithoutAServer(t *testing.T) {
	m := newModel(t, says(`{"role":"assistant","content":"Yes."}`))
	path := writeConfig(t, map[string]string{"notes": notes, "gone": filepath.Join(t.TempDir(), "gone")})
	status, stdout, stderr := runAgent(t.Context(), m.url, "-config", path, "Are you there?")
	if status != 0 || stdout != "Yes.\n" || !strings.HasPrefix(stderr, "agent: going on without server gone: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	if names := m.played()[0].toolNames(t); !slices.Contains(names, "notes__create") {
		t.Errorf("offered %q, want those of notes", names)
	}
}

func TestMaxSteps(t *testing.T) {
	again := says(`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"add","arguments":"{\"a\":1,\"b\":1}"}}]}`)
	m := newModel(t, again, again)
	status, stdout, stderr := runAgent(t.Context(), m.url, "-config", writeConfig(t, nil), "-max-steps", "2", "Count.")
	if status != 3 || stdout != "" || stderr != "agent: no answer within the allowed steps (2)\n" {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	assert.Equal(t, len(m.played()), 2, "the model was asked times")
}

// A result that is too large comes in parts, which the model can ask for.
func TestMaxResult(t *testing.T) {
	long := strings.Repeat("0123456789", 500)
	m := newModel(t,
		says(`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"notes__create","arguments":"{\"text\":\"`+long+`\"}"}}]}`),
		says(`{"role":"assistant","content":"Done."}`))
	path := writeConfig(t, map[string]string{"notes": notes})
	if status, _, stderr := runAgent(t.Context(), m.url, "-config", path, "-max-result", "1024", "Write."); status != 0 {
		t.Fatalf("status %d, stderr %q", status, stderr)
	}
	if names := m.played()[0].toolNames(t); !slices.Contains(names, "read_result") {
		t.Errorf("offered %q", names)
	}
	last := string(m.played()[1].Messages[3])
	if len(last) > 1400 || !strings.Contains(last, "read_result") || !strings.Contains(last, "0123456789") {
		t.Errorf("the model got %s", last)
	}
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
	if status != 0 || stdout != "Noted.\n" || stderr != "" {
		t.Fatalf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	requests := m.played()
	for i, r := range requests {
		if got := r.toolNames(t); !slices.Equal(got, []string{"add", "call_tool", "describe_tool", "read_result", "search_tools"}) {
			t.Errorf("request %d offers %q", i+1, got)
		}
	}
	for i, want := range []string{
		`"content":"- notes__create(text: string, title?: string) [notes]`,
		`{"role":"tool","content":"{\"id\":\"1\",\"text\":\"Buy milk\",\"title\":\"Buy milk\"}","tool_call_id":"c2"}`,
	} {
		if got := requests[i+1].messages(); !strings.Contains(got, want) {
			t.Errorf("request %d lacks %s:\n%s", i+2, want, got)
		}
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
	if status != 130 || stdout != "" {
		t.Errorf("status %d, stdout %q", status, stdout)
	}
}

func TestTimeout(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer server.Close()
	status, _, stderr := runAgent(t.Context(), server.URL, "-config", writeConfig(t, nil), "-timeout", "100ms", "Hurry.")
	if status != 1 || !strings.Contains(stderr, context.DeadlineExceeded.Error()) {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
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
		if status != c.status || stdout != "" || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: status %d, stdout %q, stderr %q", c.name, status, stdout, stderr)
		}
	}
}

func TestBusyEndpoint(t *testing.T) {
	m := newModel(t,
		reply{status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {"1"}}, body: `{"error":{"message":"slow down"}}`},
		says(`{"role":"assistant","content":"Hello."}`))
	start := time.Now()
	status, stdout, stderr := runAgent(t.Context(), m.url, "-config", writeConfig(t, nil), "Hello?")
	if status != 0 || stdout != "Hello.\n" || stderr != "" {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	if waited := time.Since(start); waited < time.Second {
		t.Errorf("asked again after %v, want no sooner than the endpoint allows", waited)
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
		if want := "agent: " + c.want + "\n"; status != 1 || stdout != "" || stderr != want {
			t.Errorf("%s: status %d, stdout %q, stderr\n     %s\nwant %s", c.name, status, stdout, stderr, want)
		}
	}
}

func quote(t *testing.T, s string) string {
	t.Helper()
	data := assert.Value(json.Marshal(s))(t)
	return string(data)
}
