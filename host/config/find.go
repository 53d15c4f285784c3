package config

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// A Location is a place where a program keeps a file that lists servers.
type Location struct {
	Client  string // the program, such as "Claude Desktop"
	Format  string // the name of the file's [Format]; codex, goose and continue need their packages
	Scope   Scope  // whose file it is
	Path    string // absolute
	Project string // the folder of the project, "" if none was given
	Exists  bool   // there is a file; whether it can be read, and lists servers, is open
}

// FindOptions are settings of [Find].
type FindOptions struct {
	// GOOS is the operating system whose places are wanted: linux, darwin or
	// windows; all others are like linux. Default: that of this program.
	GOOS string

	// Home is the user's folder. Default: as the environment says, if that is absolute.
	Home string

	// Lookup returns the value of an environment variable and whether it is set:
	// XDG_CONFIG_HOME, APPDATA, CODEX_HOME and the like. A value that is not absolute
	// is ignored: it would make a file of whatever folder the program runs in the
	// user's. Default: [os.LookupEnv].
	Lookup func(name string) (value string, ok bool)

	// Project is the folder of a project, of any kind. Files of projects are looked
	// for in it and in those above it, up to the root of the repository, which is the
	// first that has a .git; without one, in it alone. Default: no project.
	Project string

	exists func(path string) bool // of tests
	isRoot func(folder string) bool
}

// Find returns the usual places of the files of all programs that this package knows,
// existing or not: first those of the project, the nearest folder first, then those of
// the user. Of files in one folder the order is that in which [Merge] should have them.
// It opens no file. A nil opts means the defaults.
func Find(opts *FindOptions) []Location {
	f := newFinder(opts)
	var list []Location
	own := make(map[string]bool)
	for _, place := range f.userPlaces() {
		own[place.path] = true
	}
	for _, folder := range f.folders() {
		for _, place := range projectPlaces() {
			if path := f.join(folder, place.path); !own[path] { // the user's folder may be a project
				list = f.add(list, place, path)
			}
		}
	}
	for _, place := range f.userPlaces() {
		if place.path != "" {
			list = f.add(list, place, place.path)
		}
	}
	return list
}

// A usualPlace is a Location before its path is known.
type usualPlace struct {
	client, format string
	scope          Scope
	path           string // with /, in a project's folder; of a user's it is absolute
}

// projectPlaces are the files of a project.
func projectPlaces() []usualPlace {
	return []usualPlace{
		{"Claude Code", "mcpServers", ScopeProject, ".mcp.json"},
		{"Cursor", "mcpServers", ScopeProject, ".cursor/mcp.json"},
		{"VS Code", "vscode", ScopeProject, ".vscode/mcp.json"},
		{"VS Code", "vscode", ScopeProject, ".vscode/settings.json"},
		{"Visual Studio", "vscode", ScopeProject, ".vs/mcp.json"},
		{"Gemini CLI", "mcpServers", ScopeProject, ".gemini/settings.json"},
		{"Copilot CLI", "mcpServers", ScopeProject, ".github/mcp.json"},
		{"Zed", "zed", ScopeProject, ".zed/settings.json"},
		{"Codex", "codex", ScopeProject, ".codex/config.toml"},
		{"OpenCode", "opencode", ScopeProject, ".opencode/opencode.json"},
		{"OpenCode", "opencode", ScopeProject, ".opencode/opencode.jsonc"},
		{"OpenCode", "opencode", ScopeProject, "opencode.json"},
		{"OpenCode", "opencode", ScopeProject, "opencode.jsonc"},
		{"Crush", "crush", ScopeProject, ".crush.json"},
		{"Crush", "crush", ScopeProject, "crush.json"},
		{"Kiro", "mcpServers", ScopeProject, ".kiro/settings/mcp.json"},
		{"Junie", "mcpServers", ScopeProject, ".junie/mcp/mcp.json"},
		{"Roo Code", "mcpServers", ScopeProject, ".roo/mcp.json"},
		{"Kilo Code", "mcpServers", ScopeProject, ".kilocode/mcp.json"},
		{"Amazon Q", "mcpServers", ScopeProject, ".amazonq/mcp.json"},
		{"Factory", "mcpServers", ScopeProject, ".factory/mcp.json"},
		{"Warp", "mcpServers", ScopeProject, ".warp/.mcp.json"},
		{"Continue", "continue", ScopeProject, ".continue/config.yaml"},
		{"Kode", "mcpServers", ScopeProject, ".kode.json"},
		{"Kode", "kode", ScopeRC, ".mcprc"},
	}
}

// A finder knows where the folders of one user on one operating system are.
type finder struct {
	FindOptions
}

func newFinder(opts *FindOptions) *finder {
	f := &finder{}
	if opts != nil {
		f.FindOptions = *opts
	}
	if f.GOOS == "" {
		f.GOOS = runtime.GOOS
	}
	if f.Lookup == nil {
		f.Lookup = os.LookupEnv
	}
	if f.Home == "" {
		f.Home = f.variable(homeVariable(f.GOOS), "")
	}
	if f.Project != "" && f.GOOS == runtime.GOOS {
		if folder, err := filepath.Abs(f.Project); err == nil {
			f.Project = folder
		}
	}
	if f.exists == nil {
		f.exists = func(path string) bool {
			info, err := os.Stat(path)
			return err == nil && !info.IsDir()
		}
	}
	if f.isRoot == nil {
		f.isRoot = func(folder string) bool {
			_, err := os.Lstat(f.join(folder, ".git"))
			return err == nil
		}
	}
	return f
}

func (f *finder) add(list []Location, p usualPlace, path string) []Location {
	return append(list, Location{
		Client: p.client, Format: p.format, Scope: p.scope, Path: path, Project: f.Project, Exists: f.exists(path),
	})
}

// join puts a path with / behind a folder, as the operating system writes it.
func (f *finder) join(folder, rest string) string {
	if f.GOOS != "windows" {
		return path.Join(folder, rest)
	}
	return strings.TrimRight(folder, `\/`) + `\` + strings.ReplaceAll(path.Clean(rest), "/", `\`)
}

// folders returns the project's folder and those above it up to the repository's root.
func (f *finder) folders() []string {
	if f.Project == "" {
		return nil
	}
	const deepest = 64
	var list []string
	for folder := f.Project; len(list) < deepest; {
		list = append(list, folder)
		if f.isRoot(folder) {
			return list
		}
		above := f.above(folder)
		if above == folder {
			break
		}
		folder = above
	}
	return list[:1] // no repository: what lies above belongs to others
}

// above returns the folder around a folder, or itself at the top.
func (f *finder) above(folder string) string {
	if f.GOOS != "windows" {
		return path.Dir(folder)
	}
	cut := strings.LastIndexAny(strings.TrimRight(folder, `\/`), `\/`)
	if cut < 0 || strings.HasSuffix(folder[:cut], `\`) { // a volume, or \\server\share
		return folder
	}
	if cut == 2 && folder[1] == ':' {
		cut++ // C:\ keeps its backslash
	}
	return folder[:cut]
}

// userPlaces are the files of the user, with absolute paths; "" where the folder is
// not known.
func (f *finder) userPlaces() []usualPlace {
	user := func(client, format, path string) usualPlace { return usualPlace{client, format, ScopeUser, path} }
	code := func(product string) string { return f.support(product + "/User") }
	return []usualPlace{
		user("Claude Desktop", "mcpServers", under(f, f.support("Claude"), "claude_desktop_config.json")),
		user("Claude Code", "mcpServers", f.claudeCode()),
		user("Cursor", "mcpServers", f.home(".cursor/mcp.json")),
		user("Windsurf", "mcpServers", f.home(".codeium/windsurf/mcp_config.json")),
		user("VS Code", "vscode", under(f, code("Code"), "mcp.json")),
		user("VS Code", "vscode", under(f, code("Code"), "settings.json")),
		user("VS Code Insiders", "vscode", under(f, code("Code - Insiders"), "mcp.json")),
		user("VSCodium", "vscode", under(f, code("VSCodium"), "mcp.json")),
		user("Cline", "mcpServers", under(f, code("Code"), "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json")),
		user("Gemini CLI", "mcpServers", f.home(".gemini/settings.json")),
		user("Copilot CLI", "mcpServers", under(f, f.variable("COPILOT_HOME", f.home(".copilot")), "mcp-config.json")),
		user("Zed", "zed", under(f, f.zed(), "settings.json")),
		user("Codex", "codex", under(f, f.variable("CODEX_HOME", f.home(".codex")), "config.toml")),
		user("Goose", "goose", f.goose()),
		user("OpenCode", "opencode", f.variable("OPENCODE_CONFIG", "")),
		user("OpenCode", "opencode", f.config("opencode/opencode.json")),
		user("OpenCode", "opencode", f.config("opencode/opencode.jsonc")),
		user("Crush", "crush", f.crush()),
		user("Kiro", "mcpServers", f.home(".kiro/settings/mcp.json")),
		user("Junie", "mcpServers", f.home(".junie/mcp/mcp.json")),
		user("Roo Code", "mcpServers", under(f, code("Code"), "globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json")),
		user("Kilo Code", "mcpServers", under(f, code("Code"), "globalStorage/kilocode.kilo-code/settings/mcp_settings.json")),
		user("Amazon Q", "mcpServers", f.home(".aws/amazonq/mcp.json")),
		user("Factory", "mcpServers", f.home(".factory/mcp.json")),
		user("Warp", "mcpServers", f.home(".warp/.mcp.json")),
		user("Continue", "continue", f.home(".continue/config.yaml")),
		user("Kode", "mcpServers", f.home(".kode.json")),
		user("IronClaw", "ironclaw", f.home(".ironclaw/mcp-servers.json")),
		user("mcpproxy", "mcpServers", f.home(".mcpproxy/mcp_config.json")),
	}
}

// under is a path below a folder that may not be known.
func under(f *finder, folder, rest string) string {
	if folder == "" {
		return ""
	}
	return f.join(folder, rest)
}

func (f *finder) home(rest string) string { return under(f, f.Home, rest) }

// variable is the folder that an environment variable names, or another one if that is
// no absolute path.
func (f *finder) variable(name, otherwise string) string {
	if value, ok := f.Lookup(name); ok && f.isAbs(value) {
		return value
	}
	return otherwise
}

// isAbs reports whether a path is absolute on the operating system.
func (f *finder) isAbs(folder string) bool {
	if f.GOOS != "windows" {
		return path.IsAbs(folder)
	}
	folder = strings.ReplaceAll(folder, `\`, "/")
	return strings.HasPrefix(folder, "//") || len(folder) >= 3 && folder[1:3] == ":/"
}

// support is the folder below which programs keep what belongs to the user.
func (f *finder) support(rest string) string {
	switch f.GOOS {
	case "windows":
		return under(f, f.variable("APPDATA", f.home("AppData/Roaming")), rest)
	case "darwin":
		return f.home("Library/Application Support/" + rest)
	default:
		return f.config(rest)
	}
}

// config is the folder of the XDG base directory specification.
func (f *finder) config(rest string) string {
	return under(f, f.variable("XDG_CONFIG_HOME", f.home(".config")), rest)
}

func (f *finder) claudeCode() string {
	return under(f, f.variable("CLAUDE_CONFIG_DIR", f.Home), ".claude.json")
}

func (f *finder) zed() string {
	if f.GOOS == "linux" {
		return f.config("zed")
	}
	if f.GOOS == "windows" {
		return f.support("Zed")
	}
	return f.home(".config/zed")
}

func (f *finder) crush() string {
	if folder := f.variable("LOCALAPPDATA", ""); folder != "" && f.GOOS == "windows" && f.variable("XDG_CONFIG_HOME", "") == "" {
		return under(f, folder, "crush/crush.json")
	}
	return f.config("crush/crush.json")
}

func (f *finder) goose() string {
	if f.GOOS == "windows" {
		return f.support("Block/goose/config/config.yaml")
	}
	return f.config("goose/config.yaml")
}
