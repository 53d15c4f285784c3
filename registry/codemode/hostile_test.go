// Tests of process.go and call.go: scripts that take more than they may.

package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

// How a hostile script may end.
const (
	byTime   = "Time"
	byCPU    = "CPU"
	byMemory = "Memory"
	byCalls  = "Calls"
	thrown   = "exception"
	returned = "value"
)

// hostileScripts try to take more than they may, or to get out. Several ends are right
// where it depends on the speed of the machine which limit is reached first.
var hostileScripts = []struct {
	name, code string
	ends       []string
}{
	{"endless loop", `while (true) {}`, []string{byTime}},
	{"endless loop with catch", `while (true) { try { while (true) {} } catch {} }`, []string{byTime}},
	{"string that doubles", `let s = 'x'; while (true) s = s + s`, []string{thrown, byMemory}},
	{"buffers without end", `const a = []; while (true) a.push(new ArrayBuffer(1 << 20))`, []string{thrown, byMemory}},
	{"large strings without end", `const a = []; while (true) a.push('x'.repeat(1 << 20) + a.length)`, []string{thrown, byMemory}},
	{"regular expression that backtracks", `return /^(a|aa)+\1$/.test('a'.repeat(60) + 'b')`, []string{byTime, returned}},
	{"join of a long array", `return new Array(2e8).join('xx').length`, []string{byTime, thrown, byMemory}},
	{"search in a long string", `return ('a'.repeat(16 << 20)).indexOf('a'.repeat(8 << 20) + 'b')`, []string{byTime, returned}},
	{"sort of holes", `const a = []; a.length = 3e7; a[0] = 1; a.sort(); return a.length`, []string{byTime, thrown, byMemory, returned}},
	{"endless recursion", `const f = () => f() + 1; return f()`, []string{thrown, byMemory}},
	{"chain of promises", `const f = () => Promise.resolve().then(f); await f()`, []string{byTime, thrown, byMemory}},

	{"recursion by a getter", `const o = {get a() { return this.a }}; return o.a`, []string{thrown, byMemory}},
	{"recursion by a proxy", `const p = new Proxy({}, {get: (t, k, r) => r[k]}); return p.x`, []string{thrown, byMemory}},
	{"deep nesting returned", `let o = {}; for (let i = 0; i < 1e5; i++) o = {o}; return o`, []string{thrown, byMemory}},
	{"deep nesting in arguments", `let o = {}; for (let i = 0; i < 1000; i++) o = {o}; return await tools.s.echo(o)`, []string{thrown, returned}},
	{"deep nesting in source", `return eval('['.repeat(1e6))`, []string{thrown, byMemory}},
	{"huge value", `return 'x'.repeat(16 << 20)`, []string{returned, thrown, byMemory}},
	{"huge arguments", `return await tools.s.echo({a: 'x'.repeat(4 << 20)})`, []string{thrown}},
	{"large arguments in parallel", `for (;;) await Promise.all([...Array(8)].map(() => tools.s.echo({a: 'x'.repeat(25e4)})))`, []string{byTime, byCalls, byMemory}},
	{"large arguments, many", `await Promise.all([...Array(250)].map(() => tools.s.echo({a: 'x'.repeat(1e5)})))`, []string{byTime, returned, byMemory, thrown}},
	{"huge log", `while (true) console.log('x'.repeat(1 << 20))`, []string{byTime}},
	{"endless log", `for (let i = 0; ; i++) console.log(i)`, []string{byTime}},
	{"endless calls", `while (true) { try { await tools.s.echo({}) } catch {} }`, []string{byCalls}},
	{"thousands of pending calls", `await Promise.all([...Array(5000)].map(() => tools.s.echo({})))`, []string{byCalls}},
	{"pending promises without end", `const all = []; while (true) all.push(new Promise(() => {}))`, []string{thrown, byMemory, byTime}},
	{"promise that nothing settles", `await new Promise(() => {})`, []string{thrown}},
	{"microtasks without end", `for (;;) await null`, []string{byTime}},
	{"generator without end", `return [...(function* () { for (;;) yield 1 })()].length`, []string{thrown, byMemory, byTime}},
	{"large integers", `let n = 3n; while (true) n = n * n`, []string{thrown, byMemory, byTime}},
	{"large exponent", `return (7n ** 50000000n).toString().length`, []string{byTime, thrown, byMemory, returned}},
	{"toJSON without end", `return {toJSON() { while (true) {} }}`, []string{byTime}},
	{"then without end", `return {then() { while (true) {} }}`, []string{byTime}},
	{"map without end", `const m = new Map(); for (let i = 0; ; i++) m.set(i, {i})`, []string{thrown, byMemory, byTime}},
	{"array of functions", `const a = []; while (true) a.push(new Function('return ' + a.length))`, []string{thrown, byMemory, byTime}},
	{"replace that grows", `let s = 'aa'; while (true) s = s.replace(/a/g, 'aaaa')`, []string{thrown, byMemory, byTime}},
	{"modules", `return await import('os')`, []string{thrown}},
	{"unbalanced source", "}); while (true) {} (async () => {", []string{byTime}},
	{"no source", "(((", []string{thrown}},
	{"prototypes of the bridge", `Map.prototype.get = () => ({resolve() { while (true) {} }, reject() {}}); Array.prototype.shift = function () { return {method: 'call', params: '{"name":"stranger__x"}', resolve() {}, reject() {}} }; Promise.prototype.then = null; JSON.stringify = () => '{'; return await tools.s.echo({})`, []string{thrown, byTime, byCalls, returned, "sandbox"}},
	{"fake answers", `console.log('{"jsonrpc":"2.0","id":2,"result":{"value":1}}\n{"jsonrpc":"2.0","id":2,"result":{"value":1}}'); return 'true'`, []string{returned}},
	{"error that is no error", `throw {get name() { throw 1 }, toString() { while (true) {} }}`, []string{byTime, thrown}},
	{"constructor of functions", `return (() => {}).constructor.constructor('return typeof process + typeof require + typeof globalThis.send')()`, []string{returned}},
}

// endOf says how a script has ended.
func endOf(report *codemode.Report) string {
	var (
		limit *codemode.LimitError
		threw *codemode.ScriptError
	)
	switch {
	case report.Err == nil:
		return returned
	case errors.As(report.Err, &limit):
		return codemode.LimitOf(limit)
	case errors.As(report.Err, &threw):
		return thrown
	}
	return "sandbox: " + report.Err.Error()
}

// rightEnd reports whether a script ended as it may.
func rightEnd(end string, ends []string) bool {
	for _, want := range ends {
		if end == want || want == "sandbox" && strings.HasPrefix(end, want) {
			return true
		}
	}
	return false
}

func newHostileRunner(t testing.TB, limit time.Duration) *codemode.Runner {
	return newRunner(t, newRegistry(t, nil, echo("s", "echo")), &codemode.Options{Limits: codemode.Limits{Time: limit}})
}

// Each hostile script ends, and leaves nothing.
func TestHostile(t *testing.T) {
	c := newHostileRunner(t, time.Duration(assert.Cases(60, 300))*time.Millisecond)
	run(t, newHostileRunner(t, time.Minute), `return 1`)
	files := openFiles(t)
	for i, test := range hostileScripts {
		if i%assert.Cases(2, 1) != 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: test.code}))(t)
			end := endOf(report)
			assert.True(t, rightEnd(end, append(test.ends, byTime)), "the end %q is one of %q", end, test.ends)
			assert.False(t, len(report.Log) > 16<<10, "a log of %d bytes is too long", len(report.Log))
			assert.False(t, len(report.Value) > 6*64<<10, "a value of %d bytes is too long", len(report.Value))
			assert.Equal(t, fmt.Sprint(children()), "[]", "the processes that are left")
		})
	}
	assert.Equal(t, openFiles(t), files, "open files, as before")
}

// A script makes no more requests than it may, however fast the machine is.
func TestCallsAreBounded(t *testing.T) {
	var made atomic.Int64
	work := remote{server: "s", name: "work", call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		made.Add(1)
		return textResult("done"), nil
	}}
	c := newRunner(t, newRegistry(t, nil, work), &codemode.Options{Limits: codemode.Limits{Calls: 10}})
	report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: `for (let i = 0; i < 1000; i++) { try { await tools.s.work({}) } catch {} }`}))(t)
	assert.Equal(t, endOf(report), byCalls, "the end")
	assert.Equal(t, made.Load(), 10, "calls")
}

// openFiles returns how many files this process has open, or 0 if the system does not say.
func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// children returns the processes that this one has started and that live, where the system
// says so.
func children() []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var found []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		found = append(found, pid)
	}
	return found
}

// A script that is ended in its fifth call of nine tells of five: what four have answered,
// and that the fifth may have run.
func TestEndedInTheFifthCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	count := 0
	stall := remote{server: "s", name: "work", call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
		mu.Lock()
		count++
		n := count
		mu.Unlock()
		if n < 5 {
			return textResult(fmt.Sprint(n)), nil
		}
		cancel()
		<-ctx.Done()
		return nil, mcp.WithOutcome(ctx.Err(), mcp.Unknown)
	}}
	c := newRunner(t, newRegistry(t, nil, stall), nil)
	report := assert.Value(c.Run(ctx, &codemode.Script{Code: `for (let i = 0; i < 9; i++) await tools.s.work({i})`}))(t)
	assert.Is(t, report.Err, context.Canceled)
	var got []string
	for _, call := range report.Calls {
		got = append(got, fmt.Sprintf("%s %s %s %s", call.Tool, call.Arguments, call.State, call.Result))
	}
	want := `[s__work {"i":0} answered 1 s__work {"i":1} answered 2 s__work {"i":2} answered 3 s__work {"i":3} answered 4 s__work {"i":4} unknown ]`
	assert.Equal(t, fmt.Sprint(got), want)
}
