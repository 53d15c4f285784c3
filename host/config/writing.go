package config

import (
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// writingOf returns how a file of a dialect is written that is the program's, nil if it
// is not. A new file has no root.
func (p program) writingOf(d *dialect.Dialect, root *jsonc.Node) *dialect.Writing {
	if d.Write != nil {
		return d.Write(root)
	}
	switch d.Name {
	case "mcpServers":
		return p.words(writesMCPServers([]string{serversKey}))
	case "kode":
		return p.words(writesMCPServers(nil))
	case "vscode":
		return writesVSCode()
	case "zed":
		return writesZed()
	case "ironclaw":
		return writesIronclaw()
	default:
		return nil
	}
}

// sameKeys returns keys that a program calls as we do.
func sameKeys(keys ...string) map[string]string {
	same := make(map[string]string, len(keys))
	for _, key := range keys {
		same[key] = key
	}
	return same
}

// writesMCPServers is for the files of ours, which others read too: all keys of ours
// stand in them.
func writesMCPServers(container []string) *dialect.Writing {
	keys := sameKeys(dialect.OwnKeys()...)
	keys["transport"] = "type"
	return &dialect.Writing{
		Edit:       dialect.EditJSON(),
		Container:  container,
		Keys:       keys,
		Transports: map[string]string{TransportStdio: "stdio", TransportHTTP: "http", TransportSSE: "sse", TransportAuto: "auto"},
		References: dialect.AllOwnRefs,
	}
}

func writesVSCode() *dialect.Writing {
	keys := sameKeys("command", "args", "env", "cwd", "url", "headers")
	keys["transport"] = "type"
	return &dialect.Writing{
		Edit:       dialect.EditJSON(),
		Container:  []string{"servers"},
		Keys:       keys,
		Transports: map[string]string{TransportStdio: "stdio", TransportHTTP: "http", TransportSSE: "sse"},
		References: dialect.EditorRefs,
		Notes: map[string]string{
			"enabled":   "has no place in VS Code, which would start the server: leave it out there, or switch it off in the editor",
			"transport": "VS Code knows http, which falls back to sse, and sse",
		},
	}
}

func writesZed() *dialect.Writing {
	keys := sameKeys("command", "args", "env", "url", "headers", "enabled")
	keys["readTimeoutSeconds"] = "timeout"
	return &dialect.Writing{
		Edit:       dialect.EditJSON(),
		Container:  []string{zedKey},
		Keys:       keys,
		Transports: map[string]string{TransportStdio: "", TransportHTTP: "", TransportAuto: ""},
		References: dialect.NoReferences,
		Notes: map[string]string{
			"readTimeoutSeconds": "is called timeout there, in seconds",
			"transport":          "is told by the keys there: a url is streamable HTTP",
			"cwd":                "has no place in Zed, which runs servers in the folder of the project",
		},
	}
}

func writesIronclaw() *dialect.Writing {
	keys := sameKeys("command", "args", "env", "url", "headers", "enabled", "description", "transport", "auth")
	return &dialect.Writing{
		Edit:       dialect.EditJSON(),
		Container:  []string{"servers"},
		Keys:       keys,
		Transports: map[string]string{TransportStdio: "stdio", TransportHTTP: "http", TransportAuto: ""},
		References: dialect.NoReferences,
	}
}
