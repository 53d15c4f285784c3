package config

import (
	"cmp"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	near "github.com/mcpbelt/mcpbelt/internal/nearest"
)

// entryKeys are the keys of an entry that this package knows. That of the last line
// is kept in Server.Extra.
func entryKeys() []string {
	return append(dialect.OwnKeys(), "httpUrl", "serverUrl", "type", "disabled", "timeout",
		"includeTools", "excludeTools", "disabledTools", "alwaysAllow", "autoApprove", "envFile",
		dialect.CommandLine, dialect.ConnectMilliseconds, dialect.ReadMilliseconds, dialect.Scopes, "oauth")
}

// hint returns what to say about an unknown key, or "".
func hint(key string, known []string) string {
	if strings.HasPrefix(key, "_") { // a note
		return ""
	}
	ours := map[string]string{"cmd": "command", "arguments": "args", "environment": "env",
		"workingDirectory": "cwd", "workingDir": "cwd", "working_dir": "cwd"}[key]
	if key == "headersHelper" {
		return "headersHelper is not supported and ignored: put the headers in \"headers\", with ${file:path} or ${VAR}"
	}
	if key == "authProviderType" { // of Gemini CLI
		return "is not supported and ignored: get a token by another program, and put it in \"headers\", with ${file:path} or ${VAR}"
	}
	if name := cmp.Or(ours, nearest(key, known)); name != "" {
		return didYouMean(name)
	}
	return ""
}

// didYouMean says of an unknown key which known one it looks like.
func didYouMean(key string) string { return "unknown key: did you mean \"" + key + "\"?" }

// nearest returns the known key that may be meant by another one, or "".
func nearest(key string, known []string) string {
	return strings.Join(near.Names(key, known, 1), "")
}
