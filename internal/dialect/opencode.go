package dialect

import (
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// mcpKey is where OpenCode and Crush have their servers.
const mcpKey = "mcp"

// OpenCode is the dialect of the opencode.json and opencode.jsonc of OpenCode: "mcp" has
// one member for each server, or, since version 2, "mcp" has "servers" with them.
// Version 2 reads both forms.
func OpenCode() *Dialect {
	return &Dialect{
		Name:      "opencode",
		Key:       mcpKey,
		Like:      openCodeLike,
		Sections:  openCodeSections,
		Words:     "transport=type command args=command env=environment cwd url headers enabled connectTimeoutSeconds=timeout",
		Translate: openCodeFields,
		Literal:   true,
		InProject: true,
		Writes: Writing{
			Transports:   map[string]string{"stdio": "local", "auto": "remote", "http": "", "sse": ""},
			Always:       true,
			Strict:       true,
			CommandLine:  true,
			Milliseconds: true,
			References:   CurlyRefs,
			Notes: map[string]string{
				"transport":             "becomes remote there, which is streamable HTTP or else SSE",
				"connectTimeoutSeconds": "is called timeout there, in milliseconds",
			},
		},
		Form: secondForm,
	}
}

func openCodeMark() mark { return mark{"opencode.json opencode.jsonc", "opencode.ai"} }

func openCodeLike(filename string, root *jsonc.Node) Likeness {
	return likeMCP(filename, root, openCodeMark(), crushMark(), func(*jsonc.Node) Likeness {
		return CertainIf(slices.ContainsFunc(openCodeServers(root).Entries, func(e Entry) bool {
			kind, command := e.Value.MemberText("type"), e.Value.Member("command")
			return kind == "local" || kind == "remote" || command != nil && command.Value.Kind == jsonc.Array
		}))
	})
}

// A mark tells the files of a program by their names, and by a word of the place of their schema.
type mark struct{ names, schema string }

// hasName reports whether a path of this or another system has one of the names.
func (m mark) hasName(filename string) bool {
	return slices.Contains(strings.Fields(m.names), strings.ToLower(BaseName(filename)))
}

func (m mark) has(filename string, root *jsonc.Node) bool {
	return m.hasName(filename) || strings.Contains(root.MemberText("$schema"), m.schema)
}

// likeMCP says whether a file is of the one of two programs that both have their servers below
// "mcp". If neither is told by its mark, like looks at what stands there.
func likeMCP(filename string, root *jsonc.Node, own, other mark, like func(mcp *jsonc.Node) Likeness) Likeness {
	m := root.Member(mcpKey)
	switch {
	case root.Kind != jsonc.Object:
		return Foreign
	case m == nil || m.Value.Kind != jsonc.Object:
		if own.hasName(filename) && root.Member(serversKey) == nil { // which says what is missing
			return Possible
		}
		return Foreign
	case own.has(filename, root):
		return Certain
	case other.has(filename, root):
		return Foreign
	}
	return like(&m.Value)
}

func openCodeSections(root *jsonc.Node) ([]Section, *Fault) {
	list, fault := Under(root, "", mcpKey, "")
	if fault == nil && root.Member(mcpKey).Value.Kind == jsonc.Object {
		list = []Section{openCodeServers(root)}
	}
	return list, fault
}

// openCodeServers returns the servers, without what only switches on or off one that an
// organization describes elsewhere, and without the timeout for all servers.
func openCodeServers(root *jsonc.Node) Section {
	mcp := &root.Member(mcpKey).Value
	if servers := servers2(mcp); servers != nil {
		return Named(servers, jsonc.Path(mcpKey).Key("servers"))
	}
	section := Named(mcp, mcpKey)
	section.Entries = slices.DeleteFunc(section.Entries, func(e Entry) bool {
		return onlySwitch(e.Value) || e.Title == "timeout" && !isServer(e.Value)
	})
	return section
}

// servers2 returns the object "servers" of the second form, or nil.
func servers2(mcp *jsonc.Node) *jsonc.Node {
	m := mcp.Member("servers")
	if m == nil || m.Value.Kind != jsonc.Object || isServer(&m.Value) {
		return nil
	}
	return &m.Value
}

// isServer reports whether an object describes a server, or is meant to.
func isServer(n *jsonc.Node) bool {
	return slices.ContainsFunc([]string{"type", "command", "url", "enabled"}, func(key string) bool {
		m := n.Member(key)
		return m != nil && m.Value.Kind != jsonc.Object
	})
}

// onlySwitch reports whether an entry only switches a server on or off.
func onlySwitch(n *jsonc.Node) bool {
	return len(n.Members) == 1 && (n.Member("enabled") != nil || n.Member("disabled") != nil)
}

// openCodeFields reads one server. Timeouts are in milliseconds: one number is for the
// start.
func openCodeFields(_ *Entry, found []Field) (fields []Field, _ []Fault) {
	for _, f := range found {
		switch {
		case f.Key == "command" && f.Value.Kind == jsonc.Array:
			f.Key = CommandLine
		case f.Key == ConnectMilliseconds && f.Value.Kind == jsonc.Object:
			fields = append(fields, f.Inside(map[string]string{"startup": ConnectMilliseconds, "request": ReadMilliseconds})...)
			continue
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// secondForm has servers written in the second form, if the file has that; both versions read the first.
func secondForm(root *jsonc.Node, w *Writing) {
	if root == nil || root.Member(mcpKey) == nil || servers2(&root.Member(mcpKey).Value) == nil {
		return
	}
	w.Container = []string{mcpKey, "servers"}
	w.Keys["enabled"] = "disabled"
	w.Keys["connectTimeoutSeconds"] = "timeout/startup"
	w.Keys["readTimeoutSeconds"] = "timeout/request"
	w.Notes["connectTimeoutSeconds"] = "is called timeout.startup there, in milliseconds"
	w.Notes["readTimeoutSeconds"] = "is called timeout.request there, in milliseconds"
}
