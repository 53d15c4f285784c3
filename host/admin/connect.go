package admin

import (
	"cmp"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// keyToCome stands in entries for the key that the user puts there.
const keyToCome = "YOUR_KEY"

// A connection is how a program gets the tools of a gateway.
type connection struct {
	Client string `json:"client"`
	File   string `json:"file"`  // its config file, in the home of the user or with a dot in the folder of a project
	Entry  string `json:"entry"` // the text of that file, if it has nothing else
}

// clients are programs with the files that have their servers, and the formats of these. Those that cannot speak with an address
// start a program that does.
var clients = []struct{ name, file, format, transport string }{
	{"Claude Code", ".mcp.json", "mcpServers", config.TransportHTTP},
	{"Claude Desktop", "Claude/claude_desktop_config.json", "mcpServers", config.TransportStdio},
	{"Codex", ".codex/config.toml", "codex", config.TransportHTTP},
	{"Crush", ".config/crush/crush.json", "crush", config.TransportHTTP},
	{"Cursor", ".cursor/mcp.json", "mcpServers", config.TransportHTTP},
	{"Gemini CLI", ".gemini/settings.json", "mcpServers", config.TransportHTTP},
	{"Goose", ".config/goose/config.yaml", "goose", config.TransportHTTP},
	{"Kiro", ".kiro/settings/mcp.json", "mcpServers", config.TransportHTTP},
	{"OpenCode", "opencode.json", "opencode", config.TransportAuto},
	{"VS Code", ".vscode/mcp.json", "vscode", config.TransportHTTP},
	{"Windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers", config.TransportHTTP},
	{"Zed", ".config/zed/settings.json", "zed", config.TransportAuto},
}

// listConnections returns the entries that connect programs to the gateway at an address.
func (q *request) listConnections() ([]connection, error) {
	at, err := url.Parse(q.URL.Query().Get("url"))
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
		return nil, invalid("url", "the http or https address of the gateway")
	}
	dir, err := os.MkdirTemp("", "mcpbelt-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	list := []connection{}
	for _, c := range clients {
		r := &record.Record{Name: "mcpbelt", URL: at.String(), Transport: c.transport, Headers: map[string]config.Secret{"Authorization": "Bearer " + keyToCome}}
		if c.transport == config.TransportStdio {
			r = &record.Record{Name: "mcpbelt", Command: "npx", Args: []string{"-y", "mcp-remote", at.String(), "--header", "Authorization: Bearer " + keyToCome}}
		}
		written := errors.New("nothing is to be kept")
		path, text := filepath.Join(dir, c.file), ""
		err := edit.Change(q.Context(), path, &config.Options{Format: c.format, Formats: cmp.Or(q.opts.Config, &config.Options{}).Formats}, func(f *edit.File) error {
			if err := f.Add(r); err != nil {
				return err
			}
			text = string(f.Bytes())
			return written
		})
		if errors.Is(err, written) { // else it has a format that the program does not know
			list = append(list, connection{c.name, c.file, text})
		}
	}
	return list, nil
}
