package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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

// bin is the path of the server's binary, built once for all tests.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "clock")
	if err != nil {
		log.Fatal(err)
	}
	bin = filepath.Join(dir, "clock.exe") // a name that runs on Windows too
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		log.Fatalf("go build: %v\n%s", err, out)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
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
	cmd := exec.Command(bin, "-until-stdin-closes")
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
	if err != nil {
		t.Fatalf("reading the address: %v", err)
	}
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
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v, want status 0", err)
	}
}

func connect(t *testing.T, url string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
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
	if err != nil {
		t.Fatalf("%s: %v", params.Name, err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return text
	}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatalf("%s: %v", params.Name, err)
	}
	return ""
}

func TestNow(t *testing.T) {
	s := connect(t, start(t).url, nil)
	var got nowOutput
	call(t, s, &mcp.CallToolParams{Name: "now"}, &got)
	if got.Zone != "UTC" || !strings.HasSuffix(got.Time, "Z") {
		t.Errorf("now without a zone: %+v, want UTC", got)
	}
	call(t, s, &mcp.CallToolParams{Name: "now", Arguments: json.RawMessage(`{"zone":"Asia/Kathmandu"}`)}, &got)
	told := assert.Value(time.Parse(time.RFC3339, got.Time))(t)
	if _, offset := told.Zone(); offset != (5*60+45)*60 || told.Weekday().String() != got.Weekday {
		t.Errorf("now in Kathmandu: %+v", got)
	}
	msg := call(t, s, &mcp.CallToolParams{Name: "now", Arguments: json.RawMessage(`{"zone":"Moon/Crater"}`)}, &got)
	assert.Equal(t, msg, `there is no time zone "Moon/Crater"; zones lists the names`, "now on the moon")
}

func TestZones(t *testing.T) {
	s := connect(t, start(t).url, nil)
	var got zonesOutput
	call(t, s, &mcp.CallToolParams{Name: "zones", Arguments: json.RawMessage(`{"prefix":"europe/be"}`)}, &got)
	if want := "[Europe/Belgrade Europe/Berlin]"; fmt.Sprint(got.Zones) != want {
		t.Errorf("zones europe/be: %v, want %s", got.Zones, want)
	}
	call(t, s, &mcp.CallToolParams{Name: "zones", Arguments: json.RawMessage(`{"prefix":"Moon/"}`)}, &got)
	if got.Zones == nil || len(got.Zones) != 0 {
		t.Errorf("zones Moon/: %v, want an empty list", got.Zones)
	}
}

func TestEveryZoneExists(t *testing.T) {
	n := 0
	for name := range strings.Lines(zoneNames) {
		n++
		if _, err := time.LoadLocation(strings.TrimSuffix(name, "\n")); err != nil {
			t.Error(err)
		}
	}
	if n < 400 {
		t.Errorf("%d zones", n)
	}
}

func TestCountdownReportsProgress(t *testing.T) {
	progress := make(chan *mcp.ProgressNotificationParams, 100)
	s := connect(t, start(t).url, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			progress <- req.Params
		},
	})
	params := &mcp.CallToolParams{Name: "countdown", Arguments: json.RawMessage(`{"seconds":1}`), Meta: mcp.Meta{"progressToken": 7}}
	var got countdownOutput
	if msg := call(t, s, params, &got); msg != "" || got.Passed != 1 {
		t.Fatalf("countdown: %+v %s", got, msg)
	}
	for i, want := range []float64{0.2, 0.4, 0.6, 0.8, 1} {
		p := <-progress
		if p.Progress != want || p.Total != 1 || fmt.Sprint(p.ProgressToken) != "7" || p.Message != fmt.Sprintf("%.1f s left", 1-want) {
			t.Errorf("progress %d: %+v, want %v of 1", i, p, want)
		}
	}
	for _, seconds := range []string{"0", "11", "1.5"} {
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "countdown", Arguments: json.RawMessage(`{"seconds":` + seconds + `}`)})
		if err == nil && !res.IsError {
			t.Errorf("countdown of %s seconds was allowed", seconds)
		}
	}
}

func TestForeignPagesAreRefused(t *testing.T) {
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
		if got := res.StatusCode == http.StatusForbidden; got != c.want {
			t.Errorf("%s: status %d, want refused: %v", c.name, res.StatusCode, c.want)
		}
	}
}

func TestEndsWithItsParent(t *testing.T) {
	s := start(t)
	connect(t, s.url, nil) // and stays connected
	assert.OK(t, s.stdin.Close())
	s.end(t)
}

func TestSignalEndsRunningCalls(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM")
	}
	s := start(t)
	running := make(chan struct{}, 100)
	session := connect(t, s.url, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { running <- struct{}{} },
	})
	called := make(chan error, 1)
	go func() {
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "countdown", Arguments: json.RawMessage(`{"seconds":10}`), Meta: mcp.Meta{"progressToken": 1},
		})
		called <- err
	}()
	<-running
	assert.OK(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.end(t)
	assert.Fails(t, <-called, "the call survived its server")
}
