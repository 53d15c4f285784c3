package dialect

import (
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

const zedKey = "context_servers"

// Zed is the dialect of the settings.json of Zed.
func Zed() *Dialect {
	return &Dialect{
		Name: "zed",
		Like: func(_ string, root *jsonc.Node) Likeness {
			return CertainIf(root.Member(zedKey) != nil)
		},
		Sections: func(root *jsonc.Node) ([]Section, *Fault) {
			list, fault := Under(root, "", zedKey, "the file has no \"context_servers\" object: put the servers in {\"context_servers\": {}}")
			for _, section := range list {
				for i := range section.Entries {
					if e := &section.Entries[i]; ofExtension(e.Value) {
						e.Skip = "it is started by an extension of Zed, which only Zed can run"
					}
				}
			}
			return list, fault
		},
		Translate: zedFields,
		Keys:      []string{"source", "settings", "remote"},
		Literal:   true,
		Write:     writesZed,
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
func zedFields(e *Entry) (fields []Field, _ []Fault) {
	for _, f := range Fields(e, map[string]string{"timeout": "readTimeoutSeconds"}) {
		f.Foreign = f.Key == "source" || f.Key == "remote" || f.Key == "settings"
		if f.Key == "command" && f.Value.Kind == jsonc.Object { // which counted in milliseconds
			fields = append(fields, f.Inside(map[string]string{"path": "command", "timeout": ReadMilliseconds})...)
		} else {
			fields = append(fields, f)
		}
	}
	return fields, nil
}

func writesZed(*jsonc.Node) *Writing {
	return &Writing{
		Container:  []string{zedKey},
		Keys:       Spelled("command args env url headers enabled readTimeoutSeconds=timeout"),
		Transports: map[string]string{"stdio": "", "http": "", "auto": ""},
		References: NoReferences,
		Notes: map[string]string{
			"readTimeoutSeconds": "is called timeout there, in seconds",
			"transport":          "is told by the keys there: a url is streamable HTTP",
			"cwd":                "has no place in Zed, which runs servers in the folder of the project",
		},
	}
}
