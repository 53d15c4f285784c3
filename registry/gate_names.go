package registry

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/textguard"
)

// checkName holds a tool's name at its server against what the protocol says of
// names: 1 to 128 of A-Z a-z 0-9 _ - and the point.
func (g *gate) checkName(found *findings, name string) {
	const field = "/name"
	switch {
	case name == "":
		found.add(TokenInvalidName, Block, field, "", 0, 0, "it is empty")
		return
	case !utf8.ValidString(name):
		found.add(TokenInvalidName, Block, field, name, 0, len(name), "it is not UTF-8")
		return
	}
	if len(name) > g.opts.MaxName {
		found.add(TokenNameTooLong, Block, field, name, 0, 0, fmt.Sprintf("it has %d bytes, %d are allowed", len(name), g.opts.MaxName))
	}
	if at := strings.IndexFunc(name, isOdd); at >= 0 {
		severity := Note
		if strings.IndexFunc(name[at:], func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			severity = Warn
		}
		odd, n := utf8.DecodeRuneInString(name[at:])
		found.add(TokenInvalidName, severity, field, name, at, at+n, fmt.Sprintf("names should do without the character U+%04X", odd))
	}
	g.checkText(found, []byte(field), name)
}

func isOdd(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
		return false
	}
	return true
}

// alike returns a finding for each tool of a server whose name looks like that of
// another one, listed before it.
func (g *gate) alike(tools []*gateTool) map[*gateTool]Finding {
	confusable := map[*gateTool]Finding{}
	first := make(map[string]*gateTool, len(tools))
	for _, tool := range tools {
		look := textguard.Skeleton(tool.Name)
		other, taken := first[look]
		switch {
		case !taken:
			first[look] = tool
		case other.Name != tool.Name:
			found := g.findings(tool)
			found.add(TokenConfusableName, Warn, "/name", tool.Name, 0, len(tool.Name),
				"it looks like the tool "+plain.Quote(other.Name))
			confusable[tool] = found.list[0]
		}
	}
	return confusable
}
