package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// buildCommand builds the program as it is released, and returns its path.
func buildCommand(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "mcpbelt.exe")
	out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".").CombinedOutput()
	assert.OK(b, err, "%s", out)
	if info, err := os.Stat(program); err == nil {
		b.Logf("the program has %.1f MB", float64(info.Size())/1e6)
	}
	return program
}

// listAlone starts the server, asks it for its tools, and ends it, with as little as
// possible beside it.
func listAlone(b *testing.B, server string) {
	b.Helper()
	cmd := exec.Command(server)
	cmd.Env = []string{serverMode + "=1"}
	in := assert.Value(cmd.StdinPipe())(b)
	out := assert.Value(cmd.StdoutPipe())(b)
	assert.OK(b, cmd.Start())
	lines := bufio.NewReader(out)
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	} {
		assert.Value(fmt.Fprintln(in, message))(b)
		assert.Value(lines.ReadString('\n'))(b)
	}
	in.Close()
	assert.OK(b, cmd.Wait())
}

// BenchmarkCommand measures commands as processes: list of 100 servers, completion of a
// server's name among them, and the tools of a server that was never started before. The
// last one's own start, and the listing of its tools without mcpbelt, is measured beside it.
func BenchmarkCommand(b *testing.B) {
	program := buildCommand(b)
	self := assert.Value(os.Executable())(b)
	servers := map[string]any{}
	for i := range 100 {
		servers[fmt.Sprintf("server%02d", i)] = map[string]any{"command": "x", "args": []string{"-y", "pack"}}
	}
	data := assert.Value(json.Marshal(map[string]any{"mcpServers": servers}))(b)
	home := b.TempDir()
	file := filepath.Join(home, "mcp.json")
	assert.OK(b, os.WriteFile(file, data, 0o600))
	run := func(b *testing.B, args ...string) {
		for b.Loop() {
			cmd := exec.Command(program, args...)
			cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), serverMode + "=1"}
			cmd.Stdout = io.Discard
			assert.OK(b, cmd.Run())
		}
	}
	b.Run("list-100", func(b *testing.B) { run(b, "list", "--config", file) })
	b.Run("complete-100", func(b *testing.B) { run(b, "__complete", "get", "--config", file, "server5") })
	b.Run("server-alone", func(b *testing.B) {
		for b.Loop() {
			listAlone(b, self)
		}
	})
	b.Run("server-tools", func(b *testing.B) {
		entry := assert.Value(json.Marshal(map[string]any{"mcpServers": map[string]any{"s": map[string]any{"command": self, "env": map[string]string{serverMode: "1"}}}}))(b)
		one := filepath.Join(home, "one.json")
		assert.OK(b, os.WriteFile(one, entry, 0o600))
		run(b, "tools", "--config", one, "--no-ledger")
	})
}
