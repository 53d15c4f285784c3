package dialect

import (
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

func crushMark() mark { return mark{"crush.json .crush.json", "charm"} }

// Crush is the dialect of the crush.json of Crush: "mcp" has one member for each server.
func Crush() *Dialect {
	return &Dialect{
		Name: "crush",
		Key:  mcpKey,
		Like: crushLike,
		Words: "transport=type command args env url headers enabled=disabled connectTimeoutSeconds=timeout " +
			"tools tools.allow=enabled_tools tools.deny=disabled_tools",
		Foreign:   []string{"sessionless", "channel_enabled", "channel_reply"},
		Keys:      []string{"oauth_client_id", "oauth_client_secret", "oauth_callback_port"},
		Translate: crushFields,
		Writes: Writing{
			Transports: map[string]string{"stdio": "stdio", "http": "http", "sse": "sse"},
			Always:     true,
			References: BracedRefs,
			Notes:      map[string]string{"connectTimeoutSeconds": "is called timeout there, in seconds"},
		},
	}
}

func crushLike(filename string, root *jsonc.Node) Likeness {
	return likeMCP(filename, root, crushMark(), openCodeMark(), func(mcp *jsonc.Node) Likeness {
		for i := range mcp.Members {
			kind := mcp.Members[i].Value.MemberText("type")
			if servers2(mcp) == nil && slices.Contains([]string{"stdio", "http", "sse"}, kind) {
				return Possible
			}
		}
		return Foreign
	})
}

// crushFields reads one server. What Crush would run to get a value is a fault.
func crushFields(_ *Entry, fields []Field) (_ []Field, faults []Fault) {
	for i := range fields {
		f := &fields[i]
		switch f.Key {
		case "command", "args", "env", "headers", "url", "oauth_client_id", "oauth_client_secret":
			faults = substituted(f.Value, f.At, faults)
		}
		if name := map[string]string{"oauth_client_id": "clientId", "oauth_client_secret": "clientSecret", "oauth_callback_port": "callbackPort"}[f.Key]; name != "" {
			f.Key, f.Name = "oauth", name
		}
	}
	return fields, faults
}

// substituted appends a fault for each text with $(command), which Crush runs.
func substituted(n *jsonc.Node, at jsonc.Path, faults []Fault) []Fault {
	if n.Kind == jsonc.String && strings.Contains(n.Text, "$(") {
		faults = append(faults, Fault{Offset: n.Offset, At: at,
			Text: "holds a $(command), which is not run here: put what it prints into a variable, and write ${VAR}"})
	}
	for i := range n.Elems {
		faults = substituted(&n.Elems[i], at.Index(i), faults)
	}
	for i := range n.Members {
		faults = substituted(&n.Members[i].Value, at.Key(n.Members[i].Key), faults)
	}
	return faults
}
