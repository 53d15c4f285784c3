// Tests of process.go: hosts that are killed, and many scripts.

package codemode_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

// doomedHost is the variable that makes the test program one that is killed while its
// script runs.
const doomedHost = "MCPBELT_DOOMED_HOST"

// runDoomed runs a script without end, and says which processes it has started for that.
func runDoomed() {
	r := registry.New(nil)
	ready := remote{server: "s", name: "ready", call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		fmt.Println(children())
		return textResult(""), nil
	}}
	if _, err := r.Replace(registry.Server{Name: "s"}, []registry.Tool{ready.tool()}); err != nil {
		panic(err)
	}
	c, err := codemode.New(r, nil, nil)
	if err != nil {
		panic(err)
	}
	_, _ = c.Run(context.Background(), &codemode.Script{Code: `await tools.s.ready({}); while (true) {}`})
}

// A sandbox does not outlive a host that was killed.
func TestKilledHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it looks into /proc")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), doomedHost+"=1")
	out := assert.Value(cmd.StdoutPipe())(t)
	assert.OK(t, cmd.Start())
	pids := strings.Fields(strings.Trim(assert.Value(bufio.NewReader(out).ReadString('\n'))(t), "[]\n"))
	assert.True(t, len(pids) > 0, "there is a sandbox")
	assert.OK(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, pid := range pids {
		for lives(pid) {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-t.Context().Done():
				t.Fatalf("got process %s alive, want none", pid)
			}
		}
	}
}

// lives reports whether a process lives and does something.
func lives(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// Scripts beyond the number that may run at a time wait for the others.
func TestManyScripts(t *testing.T) {
	c := newRunner(t, newRegistry(t, nil, echo("s", "echo")), &codemode.Options{MaxRuns: 2})
	errs := make(chan error)
	const many = 8
	for i := range many {
		go func() {
			report, err := c.Run(t.Context(), &codemode.Script{Code: fmt.Sprintf(`return (await tools.s.echo({i: %d})).i`, i)})
			if err == nil && string(report.Value) != fmt.Sprint(i) {
				err = fmt.Errorf("got %s (%v), want %d", report.Value, report.Err, i)
			}
			errs <- err
		}()
	}
	for range many {
		assert.OK(t, <-errs)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report, err := c.Run(ctx, &codemode.Script{Code: `return 1`})
	if err == nil {
		assert.Fails(t, report.Err, "a caller that has gone")
	}
}

// A caller may ask for less time.
func TestTimeout(t *testing.T) {
	res := assert.Value(newRunner(t, newRegistry(t, nil), nil).Tool(nil).Call(t.Context(), []byte(`{"code":"while (true) {}","timeout":0.3}`)))(t)
	assert.Equal(t, textOf(res), `{"error":"the script was ended at its limit: Time, at most 300ms"}`)
}

func BenchmarkRun(b *testing.B) {
	c := newRunner(b, newRegistry(b, nil, echo("s", "echo")), nil)
	for name, code := range map[string]string{"empty": `return 1`, "100 calls": `for (let i = 0; i < 100; i++) await tools.s.echo({i})`} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run(b, c, code)
			}
		})
	}
}
