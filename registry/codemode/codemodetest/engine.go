package codemodetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

// TestEngine tests that an engine does what [codemode.Engine] says: it runs programs, passes on
// what they request and log, keeps their limits, and ends them.
func TestEngine(t *testing.T, e codemode.Engine) {
	t.Run("values", func(t *testing.T) { testValues(t, e) })
	t.Run("exceptions", func(t *testing.T) { testExceptions(t, e) })
	t.Run("requests", func(t *testing.T) { testRequests(t, e) })
	t.Run("log", func(t *testing.T) { testLog(t, e) })
	t.Run("limits", func(t *testing.T) { testLimits(t, e) })
	t.Run("the end", func(t *testing.T) { testEnd(t, e) })
	t.Run("nothing else", func(t *testing.T) { testNothingElse(t, e) })
}

// limits are those of the tests.
func limits() codemode.Limits {
	return codemode.Limits{
		Time: time.Minute, CPU: 20 * time.Second, Memory: 32 << 20, Calls: 100, Parallel: 4,
		Code: 1 << 20, Output: 4 << 10, Log: 1 << 10, Message: 64 << 10,
	}
}

// A bridge records what a program does.
type bridge struct {
	request func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

	mu   sync.Mutex
	log  strings.Builder
	idle []int
}

func (b *bridge) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if b.request == nil {
		return params, nil
	}
	return b.request(ctx, method, params)
}

func (b *bridge) Log(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log.WriteString(text + "\n")
}

func (b *bridge) Idle(requests int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, requests)
}

func run(t *testing.T, e codemode.Engine, code string, b *bridge) (*codemode.Value, error) {
	t.Helper()
	return e.Run(t.Context(), &codemode.Program{Code: code, Input: json.RawMessage(`{"n":[1,2]}`), Limits: limits()}, b)
}

func testValues(t *testing.T, e codemode.Engine) {
	for code, want := range map[string]string{
		`return input.n[1]`:                            `2`,
		`return {a: [null, true, "<é"], b: undefined}`: `{"a":[null,true,"<é"]}`,
		`return undefined`:                             ``,
		``:                                             ``,
		`return await Promise.all([1, Promise.resolve(2)])`: `[1,2]`,
		`return "\ud83d\ude00\ud83d".length`:                `3`,
	} {
		value, err := run(t, e, code, new(bridge))
		if err != nil {
			t.Errorf("%s: got the error %v, want none", code, err)
			continue
		}
		if got := string(value.JSON); got != want {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
	value, err := run(t, e, `return "x".repeat(10000)`, new(bridge))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := value.Bytes, 10002; got != want {
		t.Errorf("got a value of %d bytes, want %d", got, want)
	}
	var beginning string
	if err := json.Unmarshal(value.JSON, &beginning); err != nil || len(beginning) > limits().Output || !strings.HasPrefix(beginning, `"xxx`) {
		t.Errorf("got the beginning %.20q (%v), want at most %d bytes of the JSON", beginning, err, limits().Output)
	}
}

func testExceptions(t *testing.T, e codemode.Engine) {
	for code, want := range map[string]string{
		`throw new RangeError("far")`: "RangeError: far",
		`throw "text"`:                "Error: text",
		`return 1n`:                   "TypeError",
		`let a = ;`:                   "SyntaxError",
		`await new Promise(() => {})`: "Error: ",
	} {
		_, err := run(t, e, code, new(bridge))
		var thrown *codemode.ScriptError
		if !errors.As(err, &thrown) {
			t.Errorf("%s: got the error %v, want a ScriptError", code, err)
			continue
		}
		if got := err.Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
}

func testRequests(t *testing.T, e codemode.Engine) {
	value, err := run(t, e, `return [await call("a", {b: 1}), await tools.s.t({c: 2}), await tools.t(), await search("q", 3), await describe("d")]`, &bridge{
		request: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			return json.Marshal(fmt.Sprintf("%s %s", method, params))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `["call {\"name\":\"a\",\"arguments\":{\"b\":1}}","call {\"path\":[\"s\",\"t\"],\"arguments\":{\"c\":2}}","call {\"path\":[\"t\"],\"arguments\":{}}","search {\"query\":\"q\",\"limit\":3}","describe {\"name\":\"d\"}"]`
	if got := string(value.JSON); got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	value, err = run(t, e, `try { await call("a") } catch (e) { return [e instanceof Error, e.message, e.code, e.outcome] }`, &bridge{
		request: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return nil, &codemode.Exception{Message: "why", Code: "denied", Outcome: "not sent"}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(value.JSON), `[true,"why","denied","not sent"]`; got != want {
		t.Errorf("got the exception %s, want %s", got, want)
	}

	var mu sync.Mutex
	now, most, all := 0, 0, make(chan struct{})
	b := &bridge{request: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		mu.Lock()
		if now++; now == limits().Parallel && most < now {
			close(all)
		}
		most = max(most, now)
		mu.Unlock()
		select {
		case <-all: // as many as may be at a time are under way
		case <-ctx.Done():
		}
		mu.Lock()
		now--
		mu.Unlock()
		return nil, nil
	}}
	if _, err = run(t, e, `await Promise.all([...Array(20)].map(() => call("a")))`, b); err != nil {
		t.Fatal(err)
	}
	if got, want := most, limits().Parallel; got != want {
		t.Errorf("got %d requests at a time, want %d", got, want)
	}
	if len(b.idle) == 0 || b.idle[0] != limits().Parallel {
		t.Errorf("got the idle counts %v, want %d first", b.idle, limits().Parallel)
	}
}

func testLog(t *testing.T, e codemode.Engine) {
	b := new(bridge)
	if _, err := run(t, e, `console.log("a", {b: 1}, null); for (let i = 0; i < 1000; i++) console.log("xxxxxxxxxx")`, b); err != nil {
		t.Fatal(err)
	}
	if got, want := b.log.String(), "a {\"b\":1} null\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got the log %.40q, want %q first", got, want)
	}
	if got, most := b.log.Len(), limits().Log+1; got > most {
		t.Errorf("got %d bytes of the log, want at most %d", got, most)
	}
}

func testLimits(t *testing.T, e codemode.Engine) {
	l := limits()
	l.CPU = 200 * time.Millisecond
	_, err := e.Run(t.Context(), &codemode.Program{Code: `while (true) {}`, Limits: l}, new(bridge))
	var limit *codemode.LimitError
	if !errors.As(err, &limit) || limit.Limit != "CPU" {
		t.Errorf("got the error %v of an endless loop, want a LimitError of CPU", err)
	}
	_, err = run(t, e, `const a = []; while (true) a.push("x".repeat(1 << 16) + a.length)`, new(bridge))
	if !errors.As(err, &limit) && !errors.As(err, new(*codemode.ScriptError)) {
		t.Errorf("got the error %v of a script without memory, want a LimitError or an exception", err)
	}
	if _, err = run(t, e, `await call("a", {b: "x".repeat(1 << 20)})`, new(bridge)); !errors.As(err, new(*codemode.ScriptError)) {
		t.Errorf("got the error %v of large arguments, want an exception", err)
	}
}

var errOver = errors.New("over")

func testEnd(t *testing.T, e codemode.Engine) {
	for what, code := range map[string]string{
		"a loop":                    `await call("a"); while (true) {}`,
		"a loop of the engine":      `await call("a"); return new Array(2e8).join("xx")`,
		"a request under way":       `await call("a"); await call("stall")`,
		"a request that ignores it": `await call("a"); const p = call("stall"); while (true) {}`,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		b := &bridge{request: func(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
			if strings.Contains(string(params), "stall") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			time.AfterFunc(time.Millisecond, func() { cancel(errOver) })
			return nil, nil
		}}
		if _, err := e.Run(ctx, &codemode.Program{Code: code, Limits: limits()}, b); !errors.Is(err, errOver) {
			t.Errorf("%s: got the error %v, want the cause of the context", what, err)
		}
		cancel(nil)
	}
}

func testNothingElse(t *testing.T, e codemode.Engine) {
	const names = `["require","fetch","process","setTimeout","setInterval","performance","XMLHttpRequest","WebSocket","Worker","SharedArrayBuffer","Atomics","std","os","Deno","Bun","WebAssembly"]`
	value, err := run(t, e, `return `+names+`.filter(n => n in globalThis)`, new(bridge))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(value.JSON), `[]`; got != want {
		t.Errorf("got the names %s, want none", got)
	}
	if _, err := run(t, e, `return await import("os")`, new(bridge)); !errors.As(err, new(*codemode.ScriptError)) {
		t.Errorf("got the error %v of an import, want an exception", err)
	}
}
