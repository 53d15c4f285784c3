package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const asMain = "CLOCK_TEST_MAIN" // makes the test program the server

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

// A server is a running clock.
type server struct {
	url   string
	cmd   *exec.Cmd
	stdin io.Closer
	rest  <-chan string // what the server prints after its first line
}

// start runs the binary and reads its address.
func start(t *testing.T) *server {
	t.Helper()
	cmd := program(t, "-until-stdin-closes")
	cmd.Stderr = os.Stderr
	stdin := assert.Value(cmd.StdinPipe())(t)
	stdout := assert.Value(cmd.StdoutPipe())(t)
	assert.OK(t, cmd.Start())
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	rest := make(chan string, 1)
	go func() {
		data, _ := io.ReadAll(lines)
		rest <- string(data)
	}()
	s := &server{cmd: cmd, stdin: stdin, rest: rest}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	assert.OK(t, err, "reading the address")
	if !regexp.MustCompile(`^listening on http://127\.0\.0\.1:\d+/mcp\n$`).MatchString(line) {
		t.Fatalf("first line %q", line)
	}
	s.url = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return s
}

// end waits for the process, which must end with status 0 and no more output.
func (s *server) end(t *testing.T) {
	t.Helper()
	assert.Equal(t, <-s.rest, "", "further output")
	assert.OK(t, s.cmd.Wait())
}

func connect(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session := assert.Value(client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1,
	}, nil))(t)
	t.Cleanup(func() {
		session.Close()
		transport.CloseIdleConnections()
	})
	return session
}

// call decodes a tool's structured answer into out, or returns its error text.
func call(t *testing.T, s *mcp.ClientSession, params *mcp.CallToolParams, out any) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), params)
	assert.OK(t, err, "%s", params.Name)
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return text
	}
	assert.OK(t, json.Unmarshal([]byte(text), out), "%s", params.Name)
	return ""
}

func TestNow(t *testing.T) {
	t.Parallel()
	s := connect(t, start(t).url)
	var got nowOutput
	call(t, s, &mcp.CallToolParams{Name: "now"}, &got)
	assert.Equal(t, [...]any{got.Zone, strings.HasSuffix(got.Time, "Z")}, [...]any{"UTC", true}, "now without a zone")
	call(t, s, &mcp.CallToolParams{Name: "now", Arguments: json.RawMessage(`{"zone":"Asia/Kathmandu"}`)}, &got)
	told := assert.Value(time.Parse(time.RFC3339, got.Time))(t)
	_, offset := told.Zone()
	assert.Equal(t, [...]any{offset, told.Weekday().String()}, [...]any{(5*60 + 45) * 60, got.Weekday}, "now in Kathmandu")
	msg := call(t, s, &mcp.CallToolParams{Name: "now", Arguments: json.RawMessage(`{"zone":"Moon/Crater"}`)}, &got)
	assert.Equal(t, msg, `there is no time zone "Moon/Crater"; say it as the tz database does, such as Europe/Paris`, "now on the moon")
}

func TestForeignPagesAreRefused(t *testing.T) {
	t.Parallel()
	url := start(t).url
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		name, host, origin string
		want               bool
	}{
		{"a program", "", "", false},
		{"the same origin", "", strings.TrimSuffix(url, endpoint), false},
		{"a foreign origin", "", "http://evil.example", true},
		{"a rebound host name", "evil.example", "", true},
	} {
		req := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(ping)))(t)
		req.Host = c.host
		req.Close = true
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		res := assert.Value(http.DefaultClient.Do(req))(t)
		res.Body.Close()
		got := res.StatusCode == http.StatusForbidden
		assert.Equal(t, got, c.want, "%s: status %d, want refused", c.name, res.StatusCode)
	}
}

func TestEndsWithItsParent(t *testing.T) {
	t.Parallel()
	s := start(t)
	connect(t, s.url) // and stays connected
	assert.OK(t, s.stdin.Close())
	s.end(t)
}

func TestSignalEndsTheServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM")
	}
	s := start(t)
	connect(t, s.url) // and stays connected
	assert.OK(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.end(t)
}
