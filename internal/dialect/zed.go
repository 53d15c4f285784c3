package dialect

import (
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Zed is the dialect of the settings.json of Zed.
func Zed() *Dialect {
	return &Dialect{
		Name: "zed",
		Key:  "context_servers",
		Skip: func(n *jsonc.Node) string {
			if ofExtension(n) {
				return "it is started by an extension of Zed, which only Zed can run"
			}
			return ""
		},
		Words:     "command args env url headers enabled readTimeoutSeconds=timeout",
		Foreign:   []string{"source", "remote", "settings"},
		Translate: zedFields,
		Literal:   true,
		Writes: Writing{
			Transports: map[string]string{"stdio": "", "http": "", "auto": ""},
			Notes: map[string]string{
				"readTimeoutSeconds": "is called timeout there, in seconds",
				"transport":          "is told by the keys there: a url is streamable HTTP",
				"cwd":                "has no place in Zed, which runs servers in the folder of the project",
			},
		},
	}
}

// ofExtension reports whether an entry holds the settings of an extension of Zed.
func ofExtension(n *jsonc.Node) bool {
	for _, key := range []string{"command", "url"} {
		if m := n.Member(key); m != nil && m.Value.Kind != jsonc.Null {
			return false
		}
	}
	if m := n.Member("source"); m != nil {
		return m.Value.Text == "extension"
	}
	return n.Member("settings") != nil
}

// zedFields reads the flat form and the older one, in which "command" is an object of
// path, args, env and timeout.
func zedFields(_ *Entry, found []Field) (fields []Field, _ []Fault) {
	for _, f := range found {
		if f.Key == "command" && f.Value.Kind == jsonc.Object { // which counted in milliseconds
			fields = append(fields, f.Inside(map[string]string{"path": "command", "timeout": ReadMilliseconds})...)
		} else {
			fields = append(fields, f)
		}
	}
	return fields, nil
}
