package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// tools reads the keys that choose and rename tools.
func (e *entry) tools(s *Server) {
	f := &s.Tools
	if m := e.field("includeTools"); m != nil {
		f.Allow = append([]string{}, dialect.CutArguments(e.texts(m.Value, m.At))...)
	}
	if m := e.field("excludeTools"); m != nil {
		f.Deny = append(f.Deny, dialect.CutArguments(e.texts(m.Value, m.At))...)
	}
	if m := e.field("disabledTools"); m != nil {
		f.Deny = append(f.Deny, e.texts(m.Value, m.At)...)
	}
	section := e.field("tools")
	if section != nil && section.Value.Kind == jsonc.Array { // Copilot CLI: those that are allowed
		if list := e.texts(section.Value, section.At); !slices.Contains(list, dialect.AllTools) {
			f.Allow = append(append([]string{}, f.Allow...), list...)
		}
		return
	}
	if section == nil {
		return
	}
	// An unknown key is not a warning: a misspelled "deny" would let everything through.
	e.object(section.Value, section.At, true,
		key{"allow", func(n *jsonc.Node, at jsonc.Path) {
			f.Allow = append(append([]string{}, f.Allow...), e.texts(n, at)...)
		}},
		key{"deny", func(n *jsonc.Node, at jsonc.Path) { f.Deny = append(f.Deny, e.texts(n, at)...) }},
		key{"rename", set(&f.Rename, e.rename)},
		key{"skipOutputCheck", set(&f.SkipOutputCheck, e.boolOf)})
}

func (e *entry) rename(n *jsonc.Node, at jsonc.Path) map[string]string {
	if !e.check(n, at, jsonc.Object) {
		return nil
	}
	names := make(map[string]string, len(n.Members))
	from := make(map[string]string, len(n.Members))
	for _, m := range n.Members {
		at := at.Key(m.Key)
		if !e.check(&m.Value, at, jsonc.String) {
			continue
		}
		name := m.Value.Text
		if err := checkToolName(name); err != nil {
			e.fail(m.Value.Offset, at, "%w", err)
			continue
		}
		if other, ok := from[name]; ok {
			e.fail(m.Value.Offset, at, "is the new name of %s too: choose another", jsonc.Path("").Key(other))
			continue
		}
		from[name] = m.Key
		names[m.Key] = name
	}
	return names
}

// checkToolName accepts what the MCP specification recommends for tool names.
func checkToolName(name string) error {
	const longest = 128
	bad := strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && (r < '0' || '9' < r) && !strings.ContainsRune("_-.", r)
	})
	if name == "" || len(name) > longest || bad {
		return fmt.Errorf("is not a name for a tool: use 1 to %d characters of A-Z, a-z, 0-9, ., _ and -", longest)
	}
	return nil
}
