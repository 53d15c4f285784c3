package config

import (
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// A client is a program with files that list servers: where they are, and what they mean
// beyond their format.
type client struct {
	name     string
	format   string                 // of its files, where they do not say otherwise
	file     string                 // the name of a file that no other program has, or ""
	off      string                 // the key that switches a server off; empty: there is none
	bare     bool                   // it replaces $VAR without braces
	seconds  bool                   // "timeout" counts seconds
	callback string                 // where the browser comes back to that logs in as a client of the program; without a port to any
	project  []string               // its files in a project's folder, with /
	user     func(f *finder) string // its file of the user, "" if the folder is not known
}

// Formats returns the formats that are always read: mcpServers, vscode, zed, kode,
// ironclaw, opencode and crush, all of them JSON with comments.
func Formats() []*Format {
	return []*Format{dialect.MCPServers(), dialect.VSCode(), dialect.Zed(), dialect.Kode(), dialect.IronClaw(), dialect.OpenCode(), dialect.Crush()}
}

// clients are all programs that [Find] looks for. One may stand here several times, if it
// has several files of the user.
func clients() []client {
	in := func(folder func(f *finder, path string) string) func(path string) func(*finder) string {
		return func(path string) func(*finder) string { return func(f *finder) string { return folder(f, path) } }
	}
	home, config, code := in((*finder).home), in((*finder).config), in((*finder).support) // code: of VS Code and its kin
	const servers = "mcpServers"
	extension := func(name, id, file string, project ...string) client {
		return client{name: name, format: servers, off: dialect.OffDisabled, seconds: true, project: project, user: code("Code/User/globalStorage/" + id + "/settings/" + file)}
	}
	cline := extension("Cline", "saoudrizwan.claude-dev", "cline_mcp_settings.json")
	cline.file = "cline_mcp_settings.json"
	return []client{
		{name: "Claude Desktop", format: servers, file: "claude_desktop_config.json", user: code("Claude/claude_desktop_config.json")},
		{name: "Claude Code", format: servers, callback: "http://localhost/callback", project: []string{".mcp.json"},
			user: func(f *finder) string { return under(f.variable("CLAUDE_CONFIG_DIR", f.Home), ".claude.json") }},
		{name: "Cursor", format: servers, callback: "http://localhost:8787/callback", project: []string{".cursor/mcp.json"}, user: home(".cursor/mcp.json")},
		{name: "Windsurf", format: servers, off: dialect.OffDisabled, user: home(".codeium/windsurf/mcp_config.json")},
		{name: "VS Code", format: "vscode", callback: "http://127.0.0.1:33418/", project: []string{".vscode/mcp.json", ".vscode/settings.json"}, user: code("Code/User/mcp.json")},
		{name: "VS Code", format: "vscode", callback: "http://127.0.0.1:33418/", user: code("Code/User/settings.json")},
		{name: "Visual Studio", format: "vscode", project: []string{".vs/mcp.json"}},
		{name: "VS Code Insiders", format: "vscode", callback: "http://127.0.0.1:33418/", user: code("Code - Insiders/User/mcp.json")},
		{name: "VSCodium", format: "vscode", user: code("VSCodium/User/mcp.json")},
		cline,
		{name: "Gemini CLI", format: servers, callback: "http://localhost:7777/oauth/callback", off: dialect.OffExcluded, bare: true,
			project: []string{".gemini/settings.json"}, user: home(".gemini/settings.json")},
		{name: "Copilot CLI", format: servers, project: []string{".github/mcp.json"},
			user: func(f *finder) string {
				return under(f.variable("COPILOT_HOME", f.home(".copilot")), "mcp-config.json")
			}},
		{name: "Zed", format: "zed", off: dialect.OffEnabled, project: []string{".zed/settings.json"}, user: (*finder).zed},
		{name: "Codex", format: "codex", callback: "http://127.0.0.1/callback", off: dialect.OffEnabled, project: []string{".codex/config.toml"},
			user: func(f *finder) string { return under(f.variable("CODEX_HOME", f.home(".codex")), "config.toml") }},
		{name: "Goose", format: "goose", off: dialect.OffEnabled, user: (*finder).goose},
		{name: "OpenCode", format: "opencode", callback: "http://127.0.0.1:19876/mcp/oauth/callback", off: dialect.OffEnabled,
			project: []string{".opencode/opencode.json", ".opencode/opencode.jsonc", "opencode.json", "opencode.jsonc"},
			user:    func(f *finder) string { return f.variable("OPENCODE_CONFIG", "") }},
		{name: "OpenCode", format: "opencode", callback: "http://127.0.0.1:19876/mcp/oauth/callback", off: dialect.OffEnabled, user: config("opencode/opencode.json")},
		{name: "OpenCode", format: "opencode", callback: "http://127.0.0.1:19876/mcp/oauth/callback", off: dialect.OffEnabled, user: config("opencode/opencode.jsonc")},
		{name: "Crush", format: "crush", off: dialect.OffDisabled, bare: true, project: []string{".crush.json", "crush.json"}, user: (*finder).crush},
		{name: "Kiro", format: servers, off: dialect.OffDisabled, project: []string{".kiro/settings/mcp.json"}, user: home(".kiro/settings/mcp.json")},
		{name: "Junie", format: servers, project: []string{".junie/mcp/mcp.json"}, user: home(".junie/mcp/mcp.json")},
		extension("Roo Code", "rooveterinaryinc.roo-cline", "mcp_settings.json", ".roo/mcp.json"),
		extension("Kilo Code", "kilocode.kilo-code", "mcp_settings.json", ".kilocode/mcp.json"),
		{name: "Amazon Q", format: servers, off: dialect.OffDisabled, project: []string{".amazonq/mcp.json"}, user: home(".aws/amazonq/mcp.json")},
		{name: "Factory", format: servers, off: dialect.OffDisabled, project: []string{".factory/mcp.json"}, user: home(".factory/mcp.json")},
		{name: "Warp", format: servers, project: []string{".warp/.mcp.json"}, user: home(".warp/.mcp.json")},
		{name: "Continue", format: "continue", project: []string{".continue/config.yaml"}, user: home(".continue/config.yaml")},
		{name: "Kode", format: servers, project: []string{".kode.json"}, user: home(".kode.json")},
		{name: "Kode", format: "kode", project: []string{rcFile}},
		{name: "IronClaw", format: "ironclaw", off: dialect.OffEnabled, bare: true, user: home(".ironclaw/mcp-servers.json")},
		{name: "mcpproxy", format: servers, off: dialect.OffEnabled, user: home(".mcpproxy/mcp_config.json")},
	}
}

// clientOf returns the program whose file that is, the zero one if no place of [Find] ends
// like the path. The owner of the home that the file is in does not matter.
func clientOf(file string) client {
	linux := &finder{FindOptions: FindOptions{GOOS: "linux", Home: "/", Lookup: func(string) (string, bool) { return "", false }}}
	var found client
	longest := 0
	for _, c := range clients() {
		places := slices.Clone(c.project)
		if c.user != nil {
			places = append(places, c.user(linux))
		}
		for _, place := range places {
			if len(place) > longest && endsWith(file, place) {
				longest, found = len(place), c
			}
		}
	}
	if longest > 0 {
		return found
	}
	for _, c := range clients() {
		if c.file != "" && c.file == dialect.BaseName(file) {
			c.format = ""
			return c
		}
	}
	return client{}
}

// writing returns how the files of a dialect are written that are the program's. A new
// file has no root.
func (c *client) writing(d *dialect.Dialect, w *dialect.Writing) *dialect.Writing {
	if !slices.Contains(dialect.SharedFormats(), d.Name) {
		return w
	}
	switch {
	case c.off != "":
		w.Keys["enabled"] = c.off
	case c.name == "":
		w.Keys["enabled"] = dialect.OffDisabled // which most programs read
	default:
		w.Notes["enabled"] = "has no place in " + c.name + ", which would start the server: only this package reads it there"
	}
	if c.seconds {
		w.Keys["readTimeoutSeconds"] = "timeout"
	}
	if c.name == "Copilot CLI" {
		w.Keys["tools.allow"], w.Keys["tools.deny"] = "tools", "excludeTools"
		w.Notes["tools"] = "is a list of those that are allowed in Copilot CLI, which knows nothing else of them"
	}
	return w
}
