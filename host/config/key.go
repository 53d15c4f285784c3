package config

import (
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// entryKeys are the keys of an entry that this package knows. That of the last line
// is kept in Server.Extra.
func entryKeys() []string {
	return []string{
		"command", "args", "env", "cwd", "url", "httpUrl", "serverUrl", "headers", "type", "transport",
		"enabled", "disabled", "description", "timeout", "connectTimeoutSeconds", "readTimeoutSeconds",
		"trust", "lazy", "required", "tools", "includeTools", "excludeTools", "disabledTools",
		"alwaysAllow", "autoApprove", "envFile", "idleTimeoutSeconds",
		"auth", "proxy", "tls", "identity", "userHeader", "isolation", "limits", "builtin", "proposed", "quarantined", "ledger",
		dialect.CommandLine, dialect.ConnectMilliseconds, dialect.ReadMilliseconds, dialect.Scopes,
		"oauth",
	}
}

// hint returns what to say about an unknown key, or "".
func hint(key string, known []string) string {
	if strings.HasPrefix(key, "_") { // a note
		return ""
	}
	switch key {
	case "cmd":
		return meant("command")
	case "arguments":
		return meant("args")
	case "environment":
		return meant("env")
	case "workingDirectory", "workingDir", "working_dir":
		return meant("cwd")
	case "headersHelper":
		return "headersHelper is not supported and ignored: put the headers in \"headers\", with ${file:path} or ${VAR}"
	}
	if name := nearest(key, known); name != "" {
		return meant(name)
	}
	return ""
}

// meant says of an unknown key which known one it looks like.
func meant(key string) string { return "unknown key: did you mean \"" + key + "\"?" }

// nearest returns the known key that differs from key only in case, '_' and
// '-', or by a slip of the fingers: one letter, or two in long keys. It returns
// "" if there is none.
func nearest(key string, known []string) string {
	const longest = 40
	if len(key) > longest {
		return ""
	}
	best, name := 3, ""
	for _, k := range known {
		d := distance(key, k)
		if strings.EqualFold(strings.NewReplacer("_", "", "-", "").Replace(key), k) {
			d = 0
		}
		if d < best && (d <= 1 || min(len(key), len(k)) >= 6) {
			best, name = d, k
		}
	}
	return name
}

// distance returns how many letters must be added, removed, changed or swapped
// with their neighbour to get from a to b; 3 means 3 or more.
func distance(a, b string) int {
	const far = 3
	if len(a)-len(b) >= far || len(b)-len(a) >= far {
		return far
	}
	var before, last []int // rows i-2 and i-1 of the table
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		if slices.Min(row) >= far {
			return far
		}
	}
	return min(row[len(b)], far)
}
