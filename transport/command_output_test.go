package transport_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

const answer = `{"jsonrpc":"2.0","id":$ID,"result":{"ok":true}}`

func TestCommandReadsAnswersIn(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]string{
		"noise":              {"say:starting up", "say:[1,2]", "say:{", "say:{}", "say:null", "say:" + answer},
		"CRLF":               {`write:` + answer + `\r\n`},
		"byte order mark":    {`write:\ufeff` + answer + `\n`},
		"blank lines":        {`write:\n\r\n  \t\n` + answer + `\n`},
		"string id":          {`say:{"jsonrpc":"2.0","id":"$ID","result":{"ok":true}}`},
		"floating id":        {`say:{"jsonrpc":"2.0","id":$ID.0,"result":{"ok":true}}`},
		"id last":            {`say:{"result":{"ok":true},"jsonrpc":"2.0","id":$ID}`},
		"null error":         {`say:{"jsonrpc":"2.0","id":$ID,"error":null,"result":{"ok":true}}`},
		"batch":              {`say:[{"jsonrpc":"2.0","method":"notifications/x"},` + answer + `]`},
		"duplicate answers":  {"say:" + answer, `say:{"jsonrpc":"2.0","id":$ID,"result":{"ok":false}}`},
		"other ids":          {`say:{"jsonrpc":"2.0","id":7,"result":{}}`, `say:{"jsonrpc":"2.0","id":1999999999,"result":{}}`, "say:" + answer},
		"two writes":         {`write:{"jsonrpc":"2.0","id":$ID,"result":`, `write:{"ok":true}}\n`},
		"99 lines of noise":  {"lines:99:noise", "say:" + answer},
		"echoed request":     {`say:got {"jsonrpc":"2.0","id":$ID,"method":"tools/list"}`, "say:" + answer},
		"cut echo":           {`say:{"jsonrpc":"2.0","id":$ID,"method":"tools/li`, "say:" + answer},
		"log line with id":   {`say:{"level":"debug","msg":"received","id":$ID}`, "say:" + answer},
		"log line of error":  {`say:{"level":"error","error":"disk full","id":$ID}`, "say:" + answer},
		"log line of result": {`say:{"result":"none yet","id":$ID}`, "say:" + answer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := dial(t, transporttest.Child(append(append([]string{"read"}, steps...), "serve")...))
			got, err := ask(t, l)
			if err != nil || got != `{"ok":true}` {
				t.Fatalf("got %s, %v", got, err)
			}
			if got, err := ask(t, l); err != nil || got != `{}` {
				t.Errorf("the next call: got %s, %v", got, err)
			}
		})
	}
}

func TestCommandFailsTheCallOfABrokenAnswer(t *testing.T) {
	for name, step := range map[string]string{
		"two objects on a line": "say:" + answer + answer,
		"cut":                   `say:{"jsonrpc":"2.0","id":$ID,"result":{"a":[`,
		"duplicate key":         `say:{"jsonrpc":"2.0","id":$ID,"result":{},"result":{}}`,
		"no result":             `say:{"jsonrpc":"2.0","id":$ID}`,
		"spaces":                `say:{ "jsonrpc" : "2.0" , "id" : $ID , "result" : }`,
		"error is text":         `say:{"jsonrpc":"2.0","id":$ID,"error":"bad"}`,
		"code is text":          `say:{"jsonrpc":"2.0","id":$ID,"error":{"code":"bad"}}`,
		"ids in the result":     `say:{"jsonrpc":"2.0","result":{"id":3,"x":{"id":4}},"id":$ID,}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := dial(t, transporttest.Child("read", step, "serve"))
			_, err := ask(t, l)
			var invalid *mcp.ProtocolError
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v, want a ProtocolError", err)
			}
			wantOutcome(t, err, mcp.Answered)
			if got, err := ask(t, l); err != nil || got != `{}` {
				t.Errorf("the next call: got %s, %v", got, err)
			}
		})
	}
}

func TestCommandReturnsTheServersError(t *testing.T) {
	l := dial(t, transporttest.Child("read",
		`say:{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"caf\u00e9","data":{"a":1}}}`, "serve"))
	_, err := ask(t, l)
	var answer *mcp.JSONRPCError
	if !errors.As(err, &answer) || answer.Code != -32602 || answer.Message != "café" || string(answer.Data) != `{"a":1}` {
		t.Errorf("got %#v", err)
	}
}

// The oversize line answers the second of two calls: it must fail, and the
// first one and the connection must not.
func TestCommandOversizeLineFailsItsCall(t *testing.T) {
	for name, line := range map[string]string{
		"id first": `{"jsonrpc":"2.0","id":$ID,"result":"` + strings.Repeat("x", 5000) + `"}`,
		"id last":  `{"result":{"id":12,"t":"` + strings.Repeat("x", 5000) + `"},"jsonrpc":"2.0","id":$ID}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recipe := transporttest.Child("read", "ready", "read", "say:"+line, "serve")
			ready := make(chan struct{})
			recipe.Stderr = func(string) { close(ready) }
			recipe.MaxMessage = 4096
			l := dial(t, recipe)
			ctx, cancel := context.WithCancel(bounded(t))
			first := make(chan error, 1)
			go func() {
				_, err := l.Call(ctx, "tools/list", nil, nil)
				first <- err
			}()
			<-ready
			second, err := ask(t, l)
			var limit *mcp.LimitError
			if !errors.As(err, &limit) || limit.Max != 4096 {
				t.Fatalf("got %s, %v; want a LimitError of 4096", second, err)
			}
			if got, err := ask(t, l); err != nil || got != `{}` {
				t.Errorf("the next call: got %s, %v", got, err)
			}
			select {
			case err := <-first:
				t.Errorf("the other call ended: %v", err)
			default:
			}
			cancel()
			<-first
		})
	}
}

func TestCommandLimitCountsTheMessage(t *testing.T) {
	const limit = 100_000
	// The child answers with a string of n bytes in an object of 43 more.
	const envelope = len(`{"jsonrpc":"2.0","id":1000000000,"result":""}`)
	for size, fits := range map[int]bool{limit - envelope: true, limit - envelope + 1: false} {
		recipe := transporttest.Child("read", "big:"+strconv.Itoa(size), "serve")
		recipe.MaxMessage = limit
		got, err := ask(t, dial(t, recipe))
		var tooLarge *mcp.LimitError
		if fits && (err != nil || len(got) != size+2) || !fits && !errors.As(err, &tooLarge) {
			t.Errorf("%d bytes: got %d bytes, %v", size+envelope, len(got), err)
		}
	}
}

// A negative limit is none.
func TestCommandWithoutLimit(t *testing.T) {
	const size = 17 << 20 // more than the default
	recipe := transporttest.Child("read", "big:"+strconv.Itoa(size), "serve")
	recipe.MaxMessage = -1
	got := assert.Value(ask(t, dial(t, recipe)))(t)
	assert.Equal(t, len(got), size+2, "bytes")
}

func TestCommandNoiseEndsTheConnection(t *testing.T) {
	t.Parallel()
	l := dial(t, transporttest.Child("read", "lines:100:noise", "serve"))
	_, err := ask(t, l)
	wantOutcome(t, err, mcp.Unknown)
	if err == nil || !strings.Contains(err.Error(), "100 lines") {
		t.Errorf("got %v", err)
	}
	if _, readErr := l.Read(bounded(t)); readErr == nil || l.Info().Err == nil {
		t.Errorf("the connection lives: Read %v, Err %v", readErr, l.Info().Err)
	}
	_, err = ask(t, l)
	wantOutcome(t, err, mcp.NotSent)
}

// What is skipped on standard output is told to who asks for it, and nothing else.
func TestCommandTellsOfNoise(t *testing.T) {
	recipe := transporttest.Child("say:starting up", "write:\\n{}\\n", "say:"+strings.Repeat("x", 5<<10), "read", "say:"+answer, "serve")
	noise := make(chan string, 3)
	recipe.Noise = func(line string) { noise <- line }
	if got, err := ask(t, dial(t, recipe)); err != nil || got != `{"ok":true}` {
		t.Fatalf("got %s, %v", got, err)
	}
	for _, want := range []string{"starting up", "{}", strings.Repeat("x", 4<<10)} {
		assert.Equal(t, <-noise, want, "noise")
	}
}
