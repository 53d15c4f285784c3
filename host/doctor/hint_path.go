package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hasFolder reports whether a command is a path, and not looked up in PATH.
func (t *trouble) hasFolder(command string) bool {
	return strings.Contains(command, "/") || t.goos == "windows" && strings.ContainsAny(command, `\:`)
}

// folders returns those of a PATH.
func (t *trouble) folders(path string) []string {
	separator := ":"
	if t.goos == "windows" {
		separator = ";"
	}
	var dirs []string
	for _, dir := range strings.Split(path, separator) {
		if dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// search returns where a program is in a PATH, or "".
func (t *trouble) search(name, path string) string {
	for _, dir := range t.folders(path) {
		if file := t.programIn(dir, name); file != "" {
			return file
		}
	}
	return ""
}

// programIn returns the path of the program of that name in a folder, or "".
func (t *trouble) programIn(dir, name string) string {
	endings := []string{""}
	if t.goos == "windows" {
		endings = strings.Split(strings.ToLower(t.getenv("PATHEXT")), ";")
		if endings[0] == "" {
			endings = []string{".com", ".exe", ".bat", ".cmd"}
		}
		if filepath.Ext(name) != "" {
			endings = append([]string{""}, endings...)
		}
	}
	for _, ending := range endings {
		file := filepath.Join(dir, name+ending)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && (t.goos == "windows" || info.Mode()&0o111 != 0) {
			return file
		}
	}
	return ""
}

// childPath returns the PATH that the server gets.
func (t *trouble) childPath() string {
	if own := t.entry.Env["PATH"]; own != "" {
		return own.Reveal()
	}
	return t.getenv("PATH")
}

// usualFolders are where programs are that services do not find: they are added to
// PATH by the start files of a shell. A * stands for any one name.
func (t *trouble) usualFolders() []string {
	if t.goos == "windows" {
		return []string{
			filepath.Join(t.getenv("ProgramFiles"), "nodejs"),
			filepath.Join(t.getenv("AppData"), "npm"),
			filepath.Join(t.getenv("LocalAppData"), "Volta", "bin"),
			filepath.Join(t.getenv("LocalAppData"), "Programs", "Python", "*"),
			filepath.Join(t.home, ".local", "bin"),
			filepath.Join(t.home, ".cargo", "bin"),
			filepath.Join(t.home, "scoop", "shims"),
		}
	}
	var dirs []string
	for _, dir := range []string{
		".nvm/versions/node/*/bin", ".config/nvm/versions/node/*/bin", ".volta/bin",
		".local/share/fnm/node-versions/*/installation/bin", ".fnm/node-versions/*/installation/bin",
		"Library/Application Support/fnm/node-versions/*/installation/bin",
		".asdf/shims", ".local/share/mise/shims", ".nodenv/shims", ".pyenv/shims", "n/bin",
		".local/bin", ".cargo/bin", ".bun/bin", ".deno/bin", "go/bin", ".nix-profile/bin",
	} {
		dirs = append(dirs, filepath.Join(t.home, dir))
	}
	return append(dirs, "/opt/homebrew/bin", "/usr/local/bin", "/opt/local/bin", filepath.Join("/home", "linuxbrew", ".linuxbrew", "bin"), "/snap/bin", "/usr/bin")
}

// elsewhere returns where a program is that is not in PATH, or "".
func (t *trouble) elsewhere(name string) string {
	if t.home == "" {
		return ""
	}
	for _, pattern := range t.usualFolders() {
		found, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		slices.Sort(found)
		for _, dir := range slices.Backward(found) { // newest versions come last
			if file := t.programIn(dir, name); file != "" {
				return file
			}
		}
	}
	return ""
}

// whereElse says where a program is that is not in PATH, and what to write, or how to
// get it.
func (t *trouble) whereElse(name string) string {
	found := t.elsewhere(name)
	if found == "" {
		return t.install(name)
	}
	separator := ":"
	if t.goos == "windows" {
		separator = ";"
	}
	dir := filepath.Dir(found)
	return fmt.Sprintf("%s is at %q. Services, and apps that are started from a menu, do not get the PATH of a terminal, to which version managers such as nvm, fnm and volta add. Write \"command\": %[2]q, or add %[3]q to the PATH of this program. Since %[1]s starts other programs of that folder, add \"env\": {\"PATH\": %[4]q} too.",
		name, found, dir, dir+separator+t.getenv("PATH"))
}

// install says how to get a program that servers are often started by.
func (t *trouble) install(name string) string {
	switch programName(name) {
	case "npx", "npm", "node":
		return "It comes with Node.js: install that, or write the absolute path of the program as \"command\"."
	case "uvx", "uv":
		return "It comes with uv, of astral.sh: install that, or write the absolute path of the program as \"command\"."
	case "docker", "podman":
		return "Install it, or write the absolute path of the program as \"command\"."
	case "bunx", "bun":
		return "It comes with Bun: install that, or write the absolute path of the program as \"command\"."
	case "python":
		return "Many systems only have python3: write that, or install the other."
	}
	return "Install it, or write its absolute path as \"command\"."
}

// ofWindowsScript tells of programs that are scripts on Windows.
func (t *trouble) ofWindowsScript(command string) {
	if t.goos != "windows" {
		return
	}
	switch name := programName(command); name {
	case "npx", "npm", "yarn", "pnpm", "tsx":
		t.hint(HintCommandNotFound, fmt.Sprintf("On Windows %s is the script %[1]s.cmd. Write \"command\": \"cmd\" and \"args\": [\"/c\", %[1]q, ...], with the arguments that there are now behind these.", name))
	}
}

const (
	nearFolders = 64     // folders that are looked through for near names
	nearFiles   = 50_000 // files in them
	nearMost    = 3      // names that are told
)

// nearNames returns the names of files in folders that may have been meant by name, in
// quotes.
func nearNames(name string, dirs []string) []string {
	type near struct {
		name  string
		edits int
	}
	var found []near
	left := nearFiles
	for _, dir := range dirs[:min(len(dirs), nearFolders)] {
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		names, _ := f.Readdirnames(left)
		_ = f.Close()
		if left -= len(names); left <= 0 {
			break
		}
		for _, n := range names {
			if d := nameEdits(name, n); d <= max(1, len(name)/4) && n != name && !slices.Contains(found, near{n, d}) {
				found = append(found, near{n, d})
			}
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		if a.edits != b.edits {
			return a.edits - b.edits
		}
		return strings.Compare(a.name, b.name)
	})
	var list []string
	for _, n := range found[:min(len(found), nearMost)] {
		list = append(list, fmt.Sprintf("%q", n.name))
	}
	return list
}

// nameEdits returns how many characters differ between two names, as an editor counts:
// added, left out, or another. Names of very different length differ in all.
func nameEdits(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if diff := len(a) - len(b); diff < -3 || diff > 3 || len(a) > 64 {
		return len(a) + len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
