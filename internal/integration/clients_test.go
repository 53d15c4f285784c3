//go:build integration && unix

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
)

// front is the variable that makes this test's binary a gateway on standard input and output, to the servers of
// the configuration file that it names.
const front = "INTEGRATION_GATEWAY"

func serveGateway() {
	o := &host.Options{StateDir: host.NoState, OpenWait: -1}
	gateway.Prepare(o)
	h, err := host.Open(context.Background(), os.Getenv(front), o)
	if err == nil {
		var g *gateway.Gateway
		if g, err = gateway.New(h, nil); err == nil {
			err = g.ServeStdio(context.Background(), "", os.Stdin, os.Stdout)
			g.Close()
		}
		h.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A door is a gateway to servers of an older and of the newest revision: the SDK's servers for its conformance
// tests, older and newer, and slowolder and slownewer.
type door struct {
	url    string // over HTTP
	config string // for serveGateway
}

func openDoor(t *testing.T) *door {
	t.Helper()
	servers := map[string]entry{}
	d := &door{}
	for name, state := range map[string]string{"older": "-stateless=false", "newer": "-stateless=true"} {
		servers[name] = entry{Type: "http", URL: sdkHTTP(state)(t, nil).(*transport.HTTP).URL}
		slow := &slowServer{cancelled: map[string]chan struct{}{}}
		servers["slow"+name] = entry{Type: "http", URL: slow.listen(t, name == "newer")}
	}
	data := assert.Value(json.Marshal(map[string]any{"mcpServers": servers}))(t)
	d.config = filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(d.config, data, 0o600))
	o := &host.Options{}
	gateway.Prepare(o)
	h := open(t, servers, o)
	for _, s := range h.Servers() {
		want := legacy
		if strings.HasSuffix(s.Name, "newer") {
			want = modern
		}
		assert.Equal(t, s.State.ProtocolVersion, want, "revision of %s", s.Name)
	}
	g := assert.Value(gateway.New(h, &gateway.Options{Anonymous: true}))(t)
	listener := httptest.NewServer(g)
	t.Cleanup(func() {
		assert.Equal(t, g.Close(), nil, "Close")
		listener.Close()
	})
	d.url = listener.URL + "/mcp"
	return d
}

// A slowServer has a tool that waits until its call is cancelled, another that waits for that, and a prompt whose
// argument can be completed.
type slowServer struct {
	mu        sync.Mutex
	cancelled map[string]chan struct{} // by the id of a call; closed when it is cancelled
}

// call returns the channel of a call.
func (s *slowServer) call(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancelled[id] == nil {
		s.cancelled[id] = make(chan struct{})
	}
	return s.cancelled[id]
}

type slowInput struct {
	ID string `json:"id"`
}

// listen serves a slowServer until the end of the test, and returns its URL.
func (s *slowServer) listen(t *testing.T, stateless bool) string {
	over := make(chan struct{})
	server := sdk.NewServer(&sdk.Implementation{Name: "slow", Version: "1"}, &sdk.ServerOptions{
		CompletionHandler: func(_ context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			values := []string{}
			for _, language := range []string{"English", "Esperanto", "Français"} {
				if strings.HasPrefix(strings.ToLower(language), req.Params.Argument.Value) {
					values = append(values, language)
				}
			}
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: values}}, nil
		},
	})
	server.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "language"}}}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{}, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "wait"}, func(ctx context.Context, req *sdk.CallToolRequest, in slowInput) (*sdk.CallToolResult, any, error) {
		if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1}); err != nil {
			return nil, nil, err
		}
		select {
		case <-ctx.Done():
			close(s.call(in.ID))
		case <-over:
		}
		return nil, nil, errors.New("the call is over")
	})
	sdk.AddTool(server, &sdk.Tool{Name: "cancelled"}, func(ctx context.Context, _ *sdk.CallToolRequest, in slowInput) (*sdk.CallToolResult, any, error) {
		select {
		case <-s.call(in.ID):
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "yes"}}}, nil, nil
		case <-ctx.Done():
		case <-over:
		}
		return nil, nil, errors.New("no")
	})
	handler := sdk.NewStreamableHTTPHandler(
		func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: stateless, PropagateRequestCancellation: true},
	)
	listener := httptest.NewServer(handler)
	t.Cleanup(func() {
		close(over)
		for session := range server.Sessions() { // that a killed client has left
			session.Close()
		}
		listener.CloseClientConnections()
		listener.Close()
	})
	return listener.URL
}

// A report is what testdata/client.mjs writes.
type report struct {
	Revision string
	Servers  map[string]serverReport
}

type serverReport struct {
	Tools        int
	Call         string
	Progress     []float64
	Read         string
	Address      bool // a resource says the address by which it was read
	Prompt       string
	Elicit       string
	Asked        []string
	MidCall      string
	AskedMidCall []string
	Complete     []string
	Aborted      bool   // the client has withdrawn a call
	Cancelled    string // the server says so, too
}

// TestTypeScriptClient has the official TypeScript client of an older and of the newest revision use a gateway, over HTTP and
// over standard input and output, to servers of both.
func TestTypeScriptClient(t *testing.T) {
	modules := nodeModules(t, "clients")
	script := assert.Value(filepath.Abs("testdata/client.mjs"))(t)
	everything := serverReport{
		Tools:    28,
		Call:     "This is a simple text response for testing.",
		Progress: []float64{0, 50, 100},
		Read:     "This is the content of the static text resource.",
		Address:  true,
		Prompt:   "Prompt with arguments: arg1='one', arg2='two'",
		Elicit:   "Hello, Ada!", Asked: []string{"What is your name?"},
		MidCall:      "Elicitation result: action=accept, content=map[name:Ada username:ada]",
		AskedMidCall: []string{"Who is there?"},
	}
	stateless := everything // of the revision that has no requests of servers
	stateless.MidCall = `elicitation failed: "elicitation/create" cannot be sent while serving a request on protocol version 2026-07-28: return an InputRequests map instead (multi round-trip requests, SEP-2322)`
	stateless.AskedMidCall = []string{}
	slow := serverReport{Complete: []string{"English", "Esperanto"}, Aborted: true, Cancelled: "yes"}
	d := openDoor(t)
	for mode, revision := range map[string]string{"legacy": legacy, "auto": modern} {
		for _, over := range []string{"http", "stdio"} {
			t.Run(over+"/"+revision, func(t *testing.T) {
				t.Parallel()
				args := []string{script, modules, mode, d.url}
				if over == "stdio" {
					args[len(args)-1] = self(t)
				}
				out := d.run(t, args...)
				var got report
				assert.OK(t, json.Unmarshal(out, &got), "%s", out)
				assert.Equal(t, got.Revision, revision, "revision")
				for name, want := range map[string]serverReport{"older": everything, "newer": stateless, "slowolder": slow, "slownewer": slow} {
					got := got.Servers[name]
					assert.True(t, reflect.DeepEqual(got, want), "%s: %+v", name, want)
				}
			})
		}
	}
}

// TestInspector has the official inspector's command line use a gateway, over HTTP and over standard input and output. The
// servers are of the other revision than the client.
func TestInspector(t *testing.T) {
	inspector := filepath.Join(nodeModules(t, "clients"), "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	d := openDoor(t)
	for _, over := range []string{"http", "stdio"} {
		for _, test := range []struct{ era, args, want string }{
			{"legacy", "tools/list", `"name":"newer__test_simple_text"`},
			{"modern", "tools/call --tool-name older__test_simple_text", `"This is a simple text response for testing."`},
			{"modern", "resources/list", `"uri":"mcpbelt:older/test://static-text"`},
			{"legacy", "resources/templates/list", `"uriTemplate":"mcpbelt:newer/test://template/{id}/data"`},
			{"legacy", "prompts/list", `"name":"newer__test_prompt_with_arguments"`},
			{"legacy", "resources/read --uri newer://test://static-text", `"This is the content of the static text resource."`},
			{"modern", "prompts/get --prompt-name older__test_prompt_with_arguments --prompt-args arg1=one arg2=two", `"Prompt with arguments: arg1='one', arg2='two'"`},
		} {
			method, _, _ := strings.Cut(test.args, " ")
			t.Run(over+"/"+test.era+"/"+method, func(t *testing.T) {
				t.Parallel()
				args := []string{inspector, "--cli"}
				if over == "http" {
					args = append(args, "--transport", "http", "--server-url", d.url)
				} else {
					args = append(args, self(t), "-e", front+"="+d.config)
				}
				args = append(args, "--protocol-era", test.era, "--format", "json", "--method")
				assert.Contains(t, string(d.run(t, append(args, strings.Fields(test.args)...)...)), test.want)
			})
		}
	}
}

// self returns the path of this test's binary.
func self(t *testing.T) string {
	t.Helper()
	return assert.Value(os.Executable())(t)
}

// run runs a program of Node.js that is a client of d, and returns what it writes to its standard output.
func (d *door) run(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(ctxFor(t), "node", args...)
	cmd.WaitDelay = time.Minute
	cmd.Env = append(os.Environ(), front+"="+d.config, "HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	assert.OK(t, err, "%s", &stderr)
	return out
}
