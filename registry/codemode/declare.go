package codemode

import (
	"strings"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// declaration returns how a script calls a tool, in TypeScript, on one line:
//
//	tools.github.create_issue(args: {title: string, body?: string}): Promise<{number: number}>
func declaration(def *registry.Definition) string {
	server, local := placeOf(def)
	path := "tools." + identifier(local)
	if server != "" {
		path = "tools." + identifier(server) + "." + identifier(local)
	}
	value := "any"
	if def.OutputSchema != nil {
		value = toolset.Type(def.OutputSchema)
	}
	return path + "(args: " + toolset.Type(def.InputSchema) + "): Promise<" + value + ">"
}

const (
	// maxSummary is how much of a description is shown beside a declaration, in bytes.
	maxSummary = 200
	// maxDeclarations is how much of all declarations a description has, in bytes.
	maxDeclarations = 4 << 10
)

// declarations returns those of the tools that are kept, or "" if they are too many.
func declarations(tools []registry.Tool, keep func(*registry.Definition) bool) string {
	var text strings.Builder
	for _, t := range tools {
		def := t.Definition()
		if _, again := t.(*codeTool); again || keep != nil && !keep(def) {
			continue
		}
		text.WriteString(declaration(def))
		if about := strings.Join(strings.Fields(plain.Cut(def.Description, maxSummary)), " "); about != "" {
			text.WriteString(" // " + plain.Text(about))
		}
		text.WriteByte('\n')
		if text.Len() > maxDeclarations {
			return ""
		}
	}
	return text.String()
}
