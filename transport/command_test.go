package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// One server answers in all of these ways, one after the other.
func TestCommandReadsAnswersIn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		steps []string
	}{
		{"byte order mark", []string{`write:\ufeff` + answer + `\n`}},
		//report: Processes | chroma-core/chroma-mcp#66, Aas-ee/open-webSearch#23, hustcc/mcp-mermaid#25, azizmazrou/ews-mcp#133, homeassistant-ai/ha-mcp#2374, microsoft/azure-devops-mcp#147 | a server writes a banner or a greeting to standard output before it answers | lines that are no message are passed over and kept for the log; a hundred in a row end the connection
		{"noise", []string{"say:starting up", "say:[1,2]", "say:{", "say:{}", "say:null", "say:" + answer}},
		//report: Processes | Azure/azure-mcp#644 | a line on standard output is JSON, but no message | the same
		{"status in JSON", []string{`say:{"status":200,"message":"Success","results":[],"duration":1189}`, "say:" + answer}},
		//report: Processes | aryamthecodebreaker/FixMap#637 | notifications are answered with an error whose id is null | it answers no request; it is counted, and named if an answer does not come in time
		{"answer to a notification", []string{`say:{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`, "say:" + answer}},
		//report: Processes | modelcontextprotocol/go-sdk#665, Taxuspt/garmin_mcp#162, chongdashu/unreal-mcp#41 | on Windows lines end with CR LF | read
		{"CRLF", []string{`write:` + answer + `\r\n`}},
		{"blank lines", []string{`write:\n\r\n  \t\n` + answer + `\n`}},
		//report: Processes | kdr/overcast#74, modelcontextprotocol/python-sdk#961 | the id of an answer is a string in the place of a number | taken for that of the request
		{"string id", []string{`say:{"jsonrpc":"2.0","id":"$ID","result":{"ok":true}}`}},
		{"floating id", []string{`say:{"jsonrpc":"2.0","id":$ID.0,"result":{"ok":true}}`}},
		{"id last", []string{`say:{"result":{"ok":true},"jsonrpc":"2.0","id":$ID}`}},
		{"null error", []string{`say:{"jsonrpc":"2.0","id":$ID,"error":null,"result":{"ok":true}}`}},
		{"batch", []string{`say:[` + someNote + `,` + answer + `]`}},
		//report: Processes | anthropics/claude-code#51073, strands-agents/harness-sdk#1221, Minidoracat/mcp-feedback-enhanced#202 | an answer comes to a request that has ended | it is dropped; the connection goes on
		{"duplicate answers", []string{"say:" + answer, `say:{"jsonrpc":"2.0","id":$ID,"result":{"ok":false}}`}},
		{"other ids", []string{`say:{"jsonrpc":"2.0","id":7,"result":{}}`, `say:{"jsonrpc":"2.0","id":1999999999,"result":{}}`, "say:" + answer}},
		{"two writes", []string{`write:{"jsonrpc":"2.0","id":$ID,"result":`, `write:{"ok":true}}\n`}},
		//report: Processes | sansan0/TrendRadar#1204 | the banner has sixty lines | the same: fewer than a hundred
		{"99 lines of noise", []string{"lines:99:noise", "say:" + answer}},
		{"echoed request", []string{`say:got {"jsonrpc":"2.0","id":$ID,"method":"tools/list"}`, "say:" + answer}},
		{"cut echo", []string{`say:{"jsonrpc":"2.0","id":$ID,"method":"tools/li`, "say:" + answer}},
		{"log line with id", []string{`say:{"level":"debug","msg":"received","id":$ID}`, "say:" + answer}},
		//report: Processes | Kapeli/dash-mcp-server#10, yoshiko-pg/o3-search-mcp#11, modelcontextprotocol/rust-sdk#412 | lines of a log stand between the answers, some of them JSON with ids | none is taken for an answer
		{"log line of error", []string{`say:{"level":"error","error":"disk full","id":$ID}`, "say:" + answer}},
		{"log line of result", []string{`say:{"result":"none yet","id":$ID}`, "say:" + answer}},
	}
	var script []string
	for _, test := range tests {
		script = append(append(script, "read"), test.steps...)
	}
	l := dial(t, child(append(script, "serve")...))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { wantResult(t, l, okResult) })
	}
	wantResult(t, l, `{}`)
}

// One server gives all of these answers. Each fails its call, and no other.
func TestCommandFailsTheCallOfABrokenAnswer(t *testing.T) {
	t.Parallel()
	answers := []string{
		answer + answer,
		`{"jsonrpc":"2.0","id":$ID,"result":{"a":[`,
		`{"jsonrpc":"2.0","id":$ID,"result":{},"result":{}}`,
		`{"jsonrpc":"2.0","id":$ID}`,
		`{ "jsonrpc" : "2.0" , "id" : $ID , "result" : }`,
		`{"jsonrpc":"2.0","id":$ID,"error":"bad"}`,
		`{"jsonrpc":"2.0","id":$ID,"error":{"code":"bad"}}`,
		`{"jsonrpc":"2.0","result":{"id":3,"x":{"id":4}},"id":$ID,}`,
	}
	var script []string
	for _, a := range answers {
		script = append(script, "read", "say:"+a)
	}
	l := dial(t, child(append(script, "serve")...))
	for _, a := range answers {
		assert.As[*mcp.ProtocolError](t, wantFailure(t, l, mcp.Answered), "%s", a)
	}
	wantResult(t, l, `{}`)
}

func TestCommandReturnsTheServersError(t *testing.T) {
	l := dial(t, child("read", `say:{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"caf\u00e9","data":{"a":1}}}`, "serve"))
	got := assert.As[*mcp.JSONRPCError](t, wantFailure(t, l, mcp.Answered))
	assert.Equal(t, got.Code, -32602, "code")
	assert.Equal(t, got.Message, "café", "message")
	assert.Equal(t, string(got.Data), `{"a":1}`, "data")
}

// The oversize line answers the second of two calls: it must fail, and the
// first one and the connection must not.
func TestCommandOversizeLineFailsItsCall(t *testing.T) {
	//report: Processes | modelcontextprotocol/typescript-sdk#2245, rust-mcp-stack/rust-mcp-sdk#151 | a line is longer than any limit | it is not kept in memory; the call that it answers fails, and no other
	for name, line := range map[string]string{
		"id first": `{"jsonrpc":"2.0","id":$ID,"result":"` + strings.Repeat("x", 5000) + `"}`,
		"id last":  `{"result":{"id":12,"t":"` + strings.Repeat("x", 5000) + `"},"jsonrpc":"2.0","id":$ID}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recipe := child("read", "ready", "read", "say:"+line, "serve")
			ready := make(chan struct{})
			recipe.Stderr = func(string) { close(ready) }
			recipe.MaxMessage = 4096
			l := dial(t, recipe)
			ctx, cancel := context.WithCancel(bounded(t))
			first := start(ctx, l, "tools/list")
			receive(t, ready, "the first request read")
			assert.Equal(t, assert.As[*mcp.LimitError](t, wantFailure(t, l, mcp.Answered)).Max, 4096, "limit")
			wantResult(t, l, `{}`)
			assert.Equal(t, len(first), 0, "ends of the other call")
			cancel()
			<-first
		})
	}
}

func TestCommandLimitCountsTheMessage(t *testing.T) {
	//report: Processes | TokenRhythm/opensquilla#953 | a message is longer than 64 KiB | read up to the limit of a message, 16 MiB by default
	const limit = 100_000
	const envelope = len(`{"jsonrpc":"2.0","id":1000000000,"result":""}`)
	recipe := child("read", "big:"+strconv.Itoa(limit-envelope), "read", "big:"+strconv.Itoa(limit-envelope+1), "serve")
	recipe.MaxMessage = limit
	l := dial(t, recipe)
	assert.Equal(t, len(assert.Value(ask(t, l))(t)), limit-envelope+2, "bytes within the limit")
	assert.As[*mcp.LimitError](t, wantFailure(t, l, mcp.Answered))
}

func TestCommandStrayOutputEndsTheConnection(t *testing.T) {
	t.Parallel()
	l := dial(t, transporttest.Child("read", "lines:100:noise", "serve"))
	assert.Contains(t, wantFailure(t, l, mcp.Unknown).Error(), "100 lines")
	assert.Fails(t, assert.Err(l.Read(bounded(t))), "Read")
	assert.Fails(t, l.Info().Err, "the connection")
	wantFailure(t, l, mcp.NotSent)
}

// StrayOutput receives what is skipped on standard output, and nothing else.
func TestCommandTellsOfStrayOutput(t *testing.T) {
	recipe := child("say:starting up", "write:\\n{}\\n", "say:"+strings.Repeat("x", 5<<10), "read", "say:"+answer, "serve")
	stray := make(chan string, 3)
	recipe.StrayOutput = func(line string) { stray <- line }
	wantResult(t, dial(t, recipe), okResult)
	for _, want := range []string{"starting up", "{}", strings.Repeat("x", 4<<10)} {
		assert.Equal(t, <-stray, want, "stray")
	}
}

func TestCommandStderrFlood(t *testing.T) {
	//report: Processes | mark3labs/mcp-go#956, openai/codex#7155, kubestellar/console#7960, activeing123/mcptoon#19, simonx1/ruby-mcp-client#142 | a server writes more to standard error than a pipe holds | it is read all the time; the last 4 KiB are kept for errors
	wantResult(t, dial(t, child("flood:1000000", "serve")), `{}`)
}

// A caller that gives up tells the server, and a late answer disturbs no other call.
func TestCommandCancellation(t *testing.T) {
	recipe := child("read", "ready", "read", "ready", "say:"+answer, "serve")
	ready := make(chan struct{}, 8)
	recipe.Stderr = func(string) { ready <- struct{}{} }
	l := dial(t, recipe)
	ctx, cancel := context.WithCancel(t.Context())
	failed := start(ctx, l, "tools/call")
	receive(t, ready, "the request read")
	cancel()
	err := <-failed
	assert.Is(t, err, context.Canceled)
	wantOutcome(t, err, mcp.Unknown)
	receive(t, ready, "the cancellation read")
	wantResult(t, l, "{}")
}

// Large frames of many callers and both planes do not mix.
func TestCommandFramesDoNotMix(t *testing.T) {
	l := dial(t, child("serve"))
	var wg sync.WaitGroup
	for i := range 8 {
		params := json.RawMessage(`"` + strings.Repeat(string(rune('a'+i)), 100_000) + `"`)
		wg.Go(func() {
			for range 2 {
				got, err := l.Call(bounded(t), "tools/call", params, nil)
				assert.True(t, err == nil && bytes.Equal(got, params), "the params came as %d bytes, %v", len(got), err)
			}
		})
	}
	control(t, l, "ping", "{}")
	resp, ok := assert.Value(l.Read(bounded(t)))(t).(*jsonrpc.Response)
	assert.True(t, ok && resp.ID.Raw() == "control", "an answer to ping came")
	wg.Wait()
}

// A server is started by the hook, and cleared up after when its process is gone.
func TestCommandStartAndEnded(t *testing.T) {
	recipe := child("serve")
	var process *exec.Cmd
	recipe.Start = func(cmd *exec.Cmd) error {
		process = cmd
		return cmd.Start()
	}
	var ended, early atomic.Int32
	recipe.Ended = func() {
		ended.Add(1)
		if process.ProcessState == nil {
			early.Add(1)
		}
	}
	l := dial(t, recipe)
	if process == nil || process.Process == nil {
		t.Fatal("got no process started by the hook, want one")
	}
	wantResult(t, l, "{}")
	assert.Equal(t, ended.Load(), 0, "calls of Ended while the server runs")
	closeWithin(t, l)
	assert.Equal(t, ended.Load(), 1, "calls of Ended after Close")
	assert.Equal(t, early.Load(), 0, "calls of Ended before the end")
}

// What ends by itself is cleared up after before Close.
func TestCommandEndedByItself(t *testing.T) {
	recipe := child("exit:3")
	ended := make(chan struct{})
	recipe.Ended = func() { close(ended) }
	dial(t, recipe)
	receive(t, ended, "a call of Ended")
}

func TestCommandStartFails(t *testing.T) {
	recipe := child("serve")
	recipe.Start = func(*exec.Cmd) error { return syscall.EPERM }
	recipe.Ended = func() { t.Error("got a call of Ended, want none: nothing was started") }
	_, err := recipe.Connect(t.Context())
	assert.As[*transport.StartError](t, err)
	assert.Is(t, err, syscall.EPERM)
}

// A process does not end because what listens to it panics.
func TestCommandListenersPanic(t *testing.T) {
	tr := child("stderr:x", "say:no message", "serve")
	line := func(string) { panic("out of order") }
	tr.Stderr, tr.StrayOutput, tr.Ended = line, line, func() { panic("out of order") }
	c := newClient(t, tr, mcp.ClientOptions{})
	assert.OK(t, c.Ready(bounded(t)))
	assert.OK(t, c.Close())
}

// probed and greeted are what a child does of the handshake before its own
// steps: refuse the probe for the newest revision, and shake hands as older
// revisions do it.
func probed() []string { return []string{"read", "say:" + unknown} }

func greeted() []string {
	return []string{
		"read", `answer:{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"child","version":"1"}}`,
		"read", // notifications/initialized
	}
}

// A line on stdout that is no message is not the end of the connection.
func TestCommandReadsOverStrayOutput(t *testing.T) {
	server := child(slices.Concat(probed(), greeted(), []string{"read", "say:noise", "answer:{}", "serve"})...)
	client := ours(t, server)
	client.again(t)
	client.again(t)

	client = bare(t, bareCommand(server))
	if client.call(bounded(t), "x") == nil || !client.ends(t) {
		mended(t, "transport/stream.go")
	}
}

// A server that dies in a call is replaced before the next one.
func TestCommandDeadServerIsReplaced(t *testing.T) {
	t.Parallel()
	dying := []string{"read", "answer:{}", "read", "exit:3"}
	first := child(slices.Concat(probed(), greeted(), dying)...)
	later := child(slices.Concat(greeted(), dying)...) // the probe is not sent again
	connections := 0
	client := ours(t, connecting(func(ctx context.Context) (mcp.Conn, error) {
		if connections++; connections == 1 {
			return first.Connect(ctx)
		}
		return later.Connect(ctx)
	}))
	for range 2 {
		assert.OK(t, client.call(bounded(t), "x"))
		wantOutcome(t, client.call(bounded(t), "x"), mcp.Unknown)
	}

	client = bare(t, bareCommand(first))
	answered, died := client.call(bounded(t), "x"), client.call(bounded(t), "x")
	if answered != nil || died == nil || !client.ends(t) {
		mended(t, "mcp/supervise.go")
	}
}
