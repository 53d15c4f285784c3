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
)

// buildCommand builds the program as it is released, and returns its path.
func buildCommand(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "mcpbelt.exe")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
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
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	} {
		if _, err := fmt.Fprintln(in, message); err != nil {
			b.Fatal(err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCommand measures commands as processes: list of 100 servers, completion of a
// server's name among them, and the tools of a server that was never started before. The
// last one's own start, and the listing of its tools without mcpbelt, is measured beside it.
func BenchmarkCommand(b *testing.B) {
	program := buildCommand(b)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	servers := map[string]any{}
	for i := range 100 {
		servers[fmt.Sprintf("server%02d", i)] = map[string]any{"command": "x", "args": []string{"-y", "pack"}}
	}
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		b.Fatal(err)
	}
	home := b.TempDir()
	file := filepath.Join(home, "mcp.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		b.Fatal(err)
	}
	run := func(b *testing.B, args ...string) {
		for b.Loop() {
			cmd := exec.Command(program, args...)
			cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), serverMode + "=1"}
			cmd.Stdout = io.Discard
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
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
		entry, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": map[string]any{"command": self, "env": map[string]string{serverMode: "1"}}}})
		if err != nil {
			b.Fatal(err)
		}
		one := filepath.Join(home, "one.json")
		if err := os.WriteFile(one, entry, 0o600); err != nil {
			b.Fatal(err)
		}
		run(b, "tools", "--config", one, "--no-ledger")
	})
}
