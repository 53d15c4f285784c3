package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// servers is how many servers are configured: one of npm, the others the neutral server of
// this folder's parent, each with so many tools.
const (
	servers = 100
	tools   = 20
)

// An entry is a server in a config file.
type entry struct {
	Command   string   `json:"command"`
	Args      []string `json:"args"`
	Lifecycle string   `json:"lifecycle,omitempty"` // for mcporter
}

// neutralLine and everythingLine start the servers that are called.
func (d *desk) neutralLine() []string {
	return []string{d.neutral, "serve", "-tools", fmt.Sprint(tools), "stdio"}
}
func (d *desk) everythingLine() []string { return []string{"node", d.everything, "stdio"} }

// writeConfigs writes the same servers for all programs.
func (d *desk) writeConfigs() error {
	for path, lifecycle := range map[string]string{
		".config/mcpbelt/mcp.json": "",
		"catalog.json":             "",           // mcpdo and the inspector
		"config/mcporter.json":     "keep-alive", // warm
		"cold.json":                "",           // mcporter
	} {
		all := map[string]entry{
			"neutral":    {d.neutral, d.neutralLine()[1:], lifecycle},
			"everything": {"node", d.everythingLine()[1:], lifecycle},
		}
		for i := range servers - len(all) {
			all[fmt.Sprintf("server%02d", i)] = entry{d.neutral, d.neutralLine()[1:], ""}
		}
		data, err := json.Marshal(map[string]any{"mcpServers": all})
		if err != nil {
			return err
		}
		path = filepath.Join(d.dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// tasks returns what is measured.
func (d *desk) tasks() []*task {
	m := func(args ...string) []string { return append([]string{d.mcpbelt}, args...) }
	node := func(args ...string) []string { return append([]string{"node"}, args...) }
	var list []*task
	for _, s := range []struct {
		name, key, value, want string
		line                   []string
		is                     string
	}{
		{"neutral", "text", "hi", "hi", d.neutralLine(), "a server in Go"},
		{"everything", "message", "hi", "Echo: hi", d.everythingLine(), "server-everything of npm"},
	} {
		pair := s.key + "=" + s.value
		list = append(list, &task{
			name: "a warm call, " + s.is, goal: "≤ 30", want: s.want,
			lines: [programs][]string{
				m("call", s.name, "echo", pair, "--yes"),
				node(d.mcporter, "call", s.name+".echo", pair),
				node(d.mcpdo, "--connection", s.name, "tools/call", "echo", s.key+":="+s.value),
			},
		}, &task{
			name: "a cold call, " + s.is, want: s.want,
			lines: [programs][]string{
				m("call", s.name, "echo", pair, "--yes", "--no-daemon"),
				node(d.mcporter, "--config", filepath.Join(d.dir, "cold.json"), "call", s.name+".echo", pair),
				node(d.inspectorCLI, "--cli", "--catalog", filepath.Join(d.dir, "catalog.json"), "--server", s.name, "--method", "tools/call", "--tool-name", "echo", "--tool-arg", pair),
			},
			alone: s.line,
			call:  fmt.Sprintf(`{"name":"echo","arguments":{%q:%q}}`, s.key, s.value),
		})
	}
	return append(list,
		&task{
			name: "list of 100 servers", goal: "≤ 50", want: "server97",
			lines: [programs][]string{
				m("list"), node(d.mcporter, "config", "list"), node(d.mcpdo, "servers/list"),
			},
		},
		&task{name: "completion of 100 servers", goal: "≤ 50", want: "server97", lines: [programs][]string{m("__complete", "get", "")}},
		&task{name: "completion of 2,000 tools", goal: "≤ 50", want: "server97__echo", lines: [programs][]string{m("__complete", "why", "")}},
	)
}

// callAlone starts a server, calls a tool and ends the server, with as little as possible
// beside it.
func callAlone(cmd *exec.Cmd, call string) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` + call + `}`,
	} {
		if err = answered(in, lines, message); err != nil {
			break
		}
	}
	_ = in.Close()
	if waited := cmd.Wait(); err == nil {
		err = waited
	}
	return err
}

// answered sends a message and waits for the next answer.
func answered(in io.Writer, lines *bufio.Reader, message string) error {
	if _, err := fmt.Fprintln(in, message); err != nil {
		return err
	}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		if bytes.Contains(line, []byte(`"result"`)) { // no notification
			return nil
		}
	}
}
