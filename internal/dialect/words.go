package dialect

import (
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Off keys switch a server off.
const (
	OffEnabled  = "enabled"      // false in the entry
	OffDisabled = "disabled"     // true in the entry
	OffExcluded = "mcp.excluded" // a list of names at the top of the file
)

// Bounds of references.
const (
	MaxPath     = 4096 // bytes of the path of a file
	MaxVariable = 256  // bytes of the name of a variable
)

// AllTools stands for all tools in the list of Copilot CLI.
const AllTools = "*"

// CutArguments cuts the arguments that Gemini CLI lets stand behind a tool's
// name, as in run(ls).
func CutArguments(names []string) []string {
	for i, name := range names {
		names[i], _, _ = strings.Cut(name, "(")
	}
	return names
}

// SharedFormats are those that many programs have, all with the same keys.
func SharedFormats() []string { return []string{"mcpServers", "kode"} }

// ListsServers reports whether the file says by lists which servers are used, as those
// of Gemini CLI do.
func ListsServers(root *jsonc.Node) bool {
	return Titles(ListMember(root, "allowed")) != nil || Titles(ListMember(root, "excluded")) != nil
}

// ListMember returns one of the lists as written, nil if it is not there.
func ListMember(root *jsonc.Node, key string) *jsonc.Member {
	if m := root.Member("mcp"); m != nil {
		return m.Value.Member(key)
	}
	return nil
}

// Titles returns the names in such a list, sorted; nil if it is not there.
func Titles(m *jsonc.Member) []string {
	if m == nil || m.Value.Kind != jsonc.Array {
		return nil
	}
	list := make([]string, 0, len(m.Value.Elems))
	for i := range m.Value.Elems {
		if m.Value.Elems[i].Kind == jsonc.String {
			list = append(list, m.Value.Elems[i].Text)
		}
	}
	slices.Sort(list)
	return list
}

// OwnKeys are the keys of an entry of ours, in the order in which they are written.
func OwnKeys() []string {
	return []string{
		"description", "enabled", "transport", "command", "args", "env", "cwd", "url", "headers", "proxy", "tls", "auth",
		"connectTimeoutSeconds", "readTimeoutSeconds", "idleTimeoutSeconds",
		"trust", "quarantined", "ledger", "tools", "lazy", "required", "builtin", "proposed", "identity", "userHeader", "isolation", "limits",
	}
}

// InOrder returns the keys of an entry in the order in which they are written.
func InOrder[V any](entry map[string]V) []string {
	own := OwnKeys()
	keys := slices.Sorted(maps.Keys(entry))
	slices.SortStableFunc(keys, func(a, b string) int {
		i, j := slices.Index(own, a), slices.Index(own, b)
		if i < 0 {
			i = len(own)
		}
		if j < 0 {
			j = len(own)
		}
		return i - j
	})
	return keys
}

// SnakeCase returns a key in snake_case.
func SnakeCase(key string) string {
	var b strings.Builder
	for _, r := range key {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Transport returns the constant for one of the spellings that files have.
func Transport(text string) string {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(text)) {
	case "stdio", "local": // of Copilot CLI
		return "stdio"
	case "http", "streamablehttp":
		return "http"
	case "sse":
		return "sse"
	case "auto", "remote":
		return "auto"
	}
	return text
}

// Braced returns a text with each $NAME in capitals written as ${NAME}, but for $$ and what stands in
// braces. A name with small letters is more likely a part of a password.
func Braced(text string) string {
	return regexp.MustCompile(`\$\$|\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*`).ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" || found[1] == '{' || strings.ToUpper(found) != found {
			return found
		}
		return "${" + found[1:] + "}"
	})
}

// NameLength returns the length of the variable name at the start of s.
func NameLength(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_':
		case '0' <= c && c <= '9' && i > 0:
		default:
			return i
		}
	}
	return len(s)
}

// BaseName is the last part of a path of this or another operating system.
func BaseName(filename string) string {
	return path.Base(strings.ReplaceAll(filepath.ToSlash(filename), `\`, "/"))
}

// SameFolder reports whether two absolute paths name the same folder, as written.
func SameFolder(a, b string) bool {
	a, b = filepath.Clean(filepath.FromSlash(a)), filepath.Clean(b)
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}
