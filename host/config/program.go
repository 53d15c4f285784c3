package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// A program says what the files of one client mean beyond their format.
type program struct {
	client  string // as [Location] has it; empty: not known
	name    string // of a file that no other program has, or ""
	off     string // the key that switches a server off; empty: there is none
	bare    bool   // it replaces $VAR without braces
	seconds bool   // "timeout" counts seconds
}

// programs are all clients that [Find] looks for.
func programs() []program {
	return []program{
		{client: "Claude Desktop", name: "claude_desktop_config.json"},
		{client: "Claude Code"},
		{client: "Cursor"},
		{client: "VS Code"},
		{client: "VS Code Insiders"},
		{client: "VSCodium"},
		{client: "Windsurf", off: dialect.OffDisabled},
		{client: "Cline", name: "cline_mcp_settings.json", off: dialect.OffDisabled, seconds: true},
		{client: "Gemini CLI", off: dialect.OffExcluded, bare: true},
		{client: "Copilot CLI"},
		{client: "Zed", off: dialect.OffEnabled},
		{client: "OpenCode", off: dialect.OffEnabled},
		{client: "Crush", off: dialect.OffDisabled, bare: true},
		{client: "Visual Studio"},
		{client: "Kiro", off: dialect.OffDisabled},
		{client: "Junie"},
		{client: "Roo Code", off: dialect.OffDisabled, seconds: true},
		{client: "Kilo Code", off: dialect.OffDisabled, seconds: true},
		{client: "Amazon Q", off: dialect.OffDisabled},
		{client: "Factory", off: dialect.OffDisabled},
		{client: "Warp"},
		{client: "Continue"},
		{client: "Codex", off: dialect.OffEnabled},
		{client: "Goose", off: dialect.OffEnabled},
		{client: "Kode"},
		{client: "IronClaw", off: dialect.OffEnabled, bare: true},
		{client: "mcpproxy", off: dialect.OffEnabled},
	}
}

// programOf returns the program whose file that is, and the format that it has there;
// empty ones if no place of [Find] ends like the path. The owner of the home
// that the file is in does not matter.
func programOf(file string) (p program, format string) {
	slashed := strings.ToLower("/" + strings.TrimPrefix(strings.ReplaceAll(filepath.ToSlash(file), `\`, "/"), "/"))
	linux := &finder{FindOptions{GOOS: "linux", Home: "/", Lookup: func(string) (string, bool) { return "", false }}}
	longest, client := 0, ""
	for _, place := range append(projectPlaces(), linux.userPlaces()...) {
		end := "/" + strings.TrimPrefix(strings.TrimPrefix(place.path, "/"), ".config/")
		if len(end) > longest && strings.HasSuffix(slashed, strings.ToLower(end)) {
			longest, client, format = len(end), place.client, place.format
		}
	}
	for _, p := range programs() {
		if client != "" && p.client == client || client == "" && p.name == dialect.BaseName(file) {
			return p, format
		}
	}
	return program{client: client}, format
}

// recognize finds out whose file it is, and makes the dialect that program's. The program
// and the format are those of the place.
func (p *parser) recognize(program program, format string) {
	shared := dialect.SharedFormats()
	switch name := p.dialect.Name; {
	case name == format || name == "mcpServers" && program.name == dialect.BaseName(p.file) || slices.Contains(shared, name) && slices.Contains(shared, format):
		p.program = program
	case name == "mcpServers" && format == "" && (dialect.BaseName(p.file) == "settings.json" || dialect.ListsServers(&p.doc.Root)):
		p.program, _ = programOf(".gemini/settings.json")
	}
	d := *p.dialect
	d.Literal = d.Literal && !p.program.bare
	p.dialect = &d
}

// words makes a writing that many programs share that of one of them.
func (p program) words(w *dialect.Writing) *dialect.Writing {
	switch {
	case p.off != "":
		w.Keys["enabled"] = p.off
	case p.client == "":
		w.Keys["enabled"] = dialect.OffDisabled // which most programs read
	default:
		w.Notes = map[string]string{"enabled": noSwitch(p.client)}
	}
	if p.seconds {
		w.Keys["readTimeoutSeconds"] = "timeout"
	}
	if p.client == "Copilot CLI" {
		w.Keys["tools.allow"], w.Keys["tools.deny"] = "tools", "excludeTools"
		w.Notes["tools"] = "is a list of those that are allowed in Copilot CLI, which knows nothing else of them"
	}
	return w
}

// noSwitch is what is said of a server that is switched off where its program cannot
// be told.
func noSwitch(client string) string {
	return "has no place in " + client + ", which would start the server: only this package reads it there"
}

// unreadPrograms are those whose files are known but not read, by name.
func unreadPrograms() map[string]string {
	return map[string]string{
		"librechat.yaml": "LibreChat", "librechat.yml": "LibreChat",
	}
}

// unread returns the program that alone reads a file, or "".
func unread(file string) string {
	base := strings.ToLower(dialect.BaseName(file))
	if name := unreadPrograms()[base]; name != "" {
		return name
	}
	slashed := strings.ReplaceAll(filepath.ToSlash(file), `\`, "/")
	if strings.HasSuffix(slashed, ".continue/config.yaml") || strings.Contains(slashed, ".continue/mcpServers/") && !strings.HasSuffix(base, ".json") {
		return "Continue"
	}
	return ""
}

// notRead is what is said of a file of such a program: advice to change it would break
// it.
func notRead(client string) string {
	if client == "Continue" {
		return "the file is that of Continue: give Options.Formats goose.Continue(), of the package host/config/goose"
	}
	return "the file is that of " + client + ", which is not read: leave it as it is, and list the servers in a .mcp.json too, in {\"mcpServers\": {}}"
}
