// Tests of process.go: a child that a script has taken over.

//go:build unix

package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

// takenOver writes a program that behaves as the child until it runs a script, and then
// does something else.
func takenOver(t *testing.T, attack string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "child")
	script := "#!/bin/sh\nPATH=/usr/bin:/bin\n" +
		`number() { printf '%s' "$1" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
read -r hello
printf '{"jsonrpc":"2.0","id":%s,"result":{"confined":[]}}\n' "$(number "$hello")"
read -r run || exit 0
id=$(number "$run")
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
` + attack + "\n"
	assert.OK(t, os.WriteFile(path, []byte(script), 0o700))
	return path
}

// A child that a script has taken over is ended, whatever it does, and gets nothing.
func TestChildThatWasTakenOver(t *testing.T) {
	t.Cleanup(func() { assert.Equal(t, fmt.Sprint(children()), "[]", "the processes that are left") }) // of all
	const request = `{"jsonrpc":"2.0","id":%d,"method":"call","params":{"name":"s__stall","arguments":{}}}\n`
	for _, test := range []struct{ name, attack, end string }{
		{"says nothing", `sleep 100`, byTime},
		{"does not end", `trap '' TERM HUP INT; while :; do :; done`, byTime},
		{"starts others", `sleep 100 & sleep 100 & exit 0`, "sandbox"},
		{"leaves its group", `setsid sleep 100 & exit 0`, "sandbox"},
		{"requests without end", `i=1; while :; do printf '` + request + `' $i; i=$((i+1)); done`, "sandbox"},
		{"the same request again", `while :; do printf '` + request + `' 1; done`, "sandbox"},
		{"a line without end", `while :; do printf '%065536d' 1; done`, byTime},
		{"noise", `while :; do echo noise; done`, "sandbox"},
		{"no UTF-8 in a name", `printf '{"jsonrpc":"2.0","method":"lo\377g","params":{"text":"a"}}\n'; answer '{"value":1}\377'; sleep 100`, "sandbox"},
		{"a key twice", `answer '{"value":1,"value":2}'; sleep 100`, "sandbox"},
		{"deep nesting", `answer "$(i=0; while [ $i -lt 100 ]; do printf '%s' '[[[[[[[[[['; i=$((i+1)); done)"; sleep 100`, "sandbox"},
		{"an answer of another form", `answer '[1]'`, "sandbox"},
		{"an answer to another request", `printf '{"jsonrpc":"2.0","id":77,"result":{"value":1}}\n'; sleep 100`, "sandbox"},
		{"a request without a method", `printf '{"jsonrpc":"2.0","id":5,"method":"","params":{}}\n'; sleep 100`, "sandbox"},
		{"a request that there is not", `printf '{"jsonrpc":"2.0","id":5,"method":"tools/list"}\n'; read -r answer; case $answer in *"no such request"*) ;; *) answer '{"value":1}';; esac`, "sandbox"},
		{"log without end", `while :; do printf '{"jsonrpc":"2.0","method":"log","params":{"text":"%0999d"}}\n' 1; done`, byTime},
		{"much on stderr", `while :; do printf '%0999d\n' 1 >&2; done`, byTime},
		{"the environment", `answer "{\"value\":\"$(tr '\0' '\n' </proc/$$/environ | cut -d= -f1 | sort | tr '\n' ' ')\"}"`, returned},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stall := remote{server: "s", name: "stall", call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}
			limit := time.Minute
			if test.end == byTime {
				limit = 100 * time.Millisecond
			}
			c := newRunner(t, newRegistry(t, nil, stall), &codemode.Options{
				Program: takenOver(t, test.attack), Limits: codemode.Limits{Time: limit},
			})
			report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: "-"}))(t)
			end := endOf(report)
			assert.True(t, rightEnd(end, []string{test.end}), "the end %q is %s", end, test.end)
			if test.end == returned {
				assert.Equal(t, string(report.Value), `"MCPBELT_CODEMODE_CHILD MCPBELT_PROCESS "`, "the variables")
			}
		})
	}
}

// A program that is no sandbox is found out.
func TestNoSandbox(t *testing.T) {
	r := newRegistry(t, nil)
	for _, program := range []string{"/bin/true", "/nowhere/sandbox", "/bin/ls"} {
		assert.Contains(t, fmt.Sprint(assert.Err(codemode.New(r, nil, &codemode.Options{Program: program}))), "scripts cannot be run", program)
	}
}
