package dialect

import (
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	near "github.com/mcpbelt/mcpbelt/internal/nearest"
)

const serversKey = "mcpServers"

// MCPServers is the dialect of Claude Desktop, Claude Code, Cursor, Windsurf, Cline,
// Gemini CLI, Kode and many others.
func MCPServers() *Dialect {
	return &Dialect{
		Name: "mcpServers",
		Key:  serversKey,
		Like: func(_ string, root *jsonc.Node) Likeness {
			return CertainIf(root.Member(serversKey) != nil || len(projects(root)) > 0)
		},
		Sections:  mcpServersSections,
		Words:     sharedWords(),
		Renames:   sharedRenames(),
		Translate: mcpServersFields,
		Keys:      []string{"envFilter"}, // of 1mcp
		Literal:   true,
		Writes:    writesShared(),
	}
}

// writesShared is for the files of ours, which others read too: all keys of ours stand in
// them.
func writesShared() Writing {
	return Writing{Transports: map[string]string{"stdio": "stdio", "http": "http", "sse": "sse", "auto": "auto"}, References: AllOwnRefs}
}

func sharedWords() string { return strings.Join(OwnKeys(), " ") + " transport=type" }

func sharedRenames() map[string]string { return map[string]string{"oauthScopes": Scopes} } // of Kiro and Amazon Q

func mcpServersSections(root *jsonc.Node) ([]Section, *Fault) {
	if root.Kind != jsonc.Object {
		return nil, &Fault{Offset: root.Offset,
			Text: "the file must hold an object such as {\"mcpServers\": {}}, not " + root.Kind.String()}
	}
	sections := projects(root)
	if root.Member(serversKey) != nil {
		list, fault := Under(root, "", serversKey, "", jsonc.Array)
		return append(sections, list...), fault
	}
	if len(sections) > 0 {
		return sections, nil
	}
	for _, m := range root.Members {
		if _, isSlip := near.Edits([]byte(m.Key), []byte(serversKey), 2); isSlip || strings.EqualFold(m.Key, "mcp_servers") {
			return nil, &Fault{Offset: m.Offset, At: jsonc.Path("").Key(m.Key),
				Text: "the file has no \"mcpServers\": rename this key to it"}
		}
	}
	for _, m := range root.Members {
		if m.Value.Member("command") != nil || m.Value.Member("url") != nil {
			return nil, &Fault{Offset: m.Offset, At: jsonc.Path("").Key(m.Key),
				Text: "looks like a server, but the file has no \"mcpServers\" object: put the servers in it, or set Options.Format to \"kode\" if the file is a .mcprc"}
		}
	}
	return nil, &Fault{Offset: root.Offset,
		Text: "the file has no \"mcpServers\" object: put the servers in {\"mcpServers\": {}}", Absent: true}
}

// projects returns the sections that Claude Code and Kode keep for single projects, in
// the file of the user.
func projects(root *jsonc.Node) []Section {
	m := root.Member("projects")
	if m == nil || m.Value.Kind != jsonc.Object {
		return nil
	}
	var sections []Section
	for _, project := range m.Value.Members {
		own := project.Value.Member(serversKey)
		if own == nil || own.Value.Kind != jsonc.Object {
			continue
		}
		section := Named(&own.Value, jsonc.Path("projects").Key(project.Key).Key(serversKey))
		section.Project = project.Key
		sections = append(sections, section)
	}
	return sections
}

// mateclawValue reads a value of MateClaw, which has it as JSON in a text. In variables and headers $VAR without
// braces is a reference there.
func mateclawValue(text *jsonc.Node) (*jsonc.Node, error) {
	doc, err := jsonc.Parse([]byte(text.Text))
	if err != nil {
		return &jsonc.Node{Kind: jsonc.Null, Offset: text.Offset}, err
	}
	root := &doc.Root
	root.Offset = text.Offset
	for i := range root.Members {
		m := &root.Members[i]
		m.Offset, m.Value.Offset = text.Offset, text.Offset
		m.Value.Text = Braced(m.Value.Text)
	}
	for i := range root.Elems {
		root.Elems[i].Offset = text.Offset
	}
	return root, nil
}

// mcpServersFields reads an entry, which in a list has the keys of mcpproxy.
func mcpServersFields(e *Entry, fields []Field) (_ []Field, faults []Fault) {
	if e.Listed {
		fields = Fields(e, map[string]string{
			"name": "", "protocol": "type", "working_dir": "cwd",
			"enabled_tools": "includeTools", "disabled_tools": "disabledTools",
		})
	}
	for i := range fields {
		f := &fields[i]
		if key, ok := strings.CutSuffix(f.Key, "Json"); ok && f.Value.Kind == jsonc.String && slices.Contains([]string{"args", "env", "headers"}, key) {
			value, err := mateclawValue(f.Value)
			if err != nil {
				faults = append(faults, Fault{Offset: f.Offset, At: f.At, Text: "is a text that is no JSON: write \"" + key + "\" and the value itself"})
			}
			f.Key, f.Value = key, value
			continue
		}
		if f.Key != "isolation" || !e.Listed || f.Value.Kind != jsonc.Object || f.Value.Member("kind") != nil {
			continue
		}
		f.Foreign = true
		if m := f.Value.Member("enabled"); m == nil || m.Value.Text != "false" {
			faults = append(faults, Fault{Offset: f.Offset, At: f.At, Warning: true,
				Text: "is the container of mcpproxy, which there is not here: the server runs without it; write a \"kind\" of isolation to confine it"})
		}
	}
	return fields, faults
}
