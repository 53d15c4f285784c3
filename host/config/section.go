package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// members calls read for each member of an object of ours, such as "auth", with the
// key in our spelling. It reports whether all keys are known; an unknown one is a
// fault if strict: a misspelled limit would let everything through.
func (e *entry) members(f *dialect.Field, known []string, strict bool, read func(key string, at jsonc.Path, m *jsonc.Member)) {
	e.objectMembers(f.Value, f.At, known, strict, read)
}

func (e *entry) objectMembers(n *jsonc.Node, at jsonc.Path, known []string, strict bool, read func(key string, at jsonc.Path, m *jsonc.Member)) {
	if !e.check(n, at, jsonc.Object) {
		return
	}
	const most = 100 // hints take time, see extra
	unknown := 0
	seen := make(map[string]bool)
	for i := range n.Members {
		m := &n.Members[i]
		at := at.Key(m.Key)
		key := e.ours(m.Key, known)
		switch {
		case m.Value.Kind == jsonc.Null:
		case seen[key]:
			e.fail(m.Offset, at, "stands here twice, in two spellings: remove one of them")
		case slices.Contains(known, key):
			seen[key] = true
			read(key, at, m)
		case strict:
			e.fail(m.Offset, at, "unknown key: write %s", oneOf(known))
		default:
			if unknown++; unknown > most {
				continue
			}
			cure := ""
			if name := nearest(m.Key, known); name != "" {
				cure = ": did you mean \"" + name + "\"?"
			}
			e.warn(m.Offset, at, "unknown key, which is ignored%s", cure)
		}
	}
}

// oneOf writes keys as a choice: "a", "b" or "c".
func oneOf(keys []string) string {
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = strconv.Quote(key)
	}
	last := len(quoted) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// boolOf returns the value of a node that must be true or false.
func (e *entry) boolOf(n *jsonc.Node, at jsonc.Path) bool {
	return e.check(n, at, jsonc.Bool) && n.Text == "true"
}

// count returns the value of a node that must be a whole number from least to most.
func (e *entry) count(n *jsonc.Node, at jsonc.Path, least, most int64) int64 {
	if !e.check(n, at, jsonc.Number) {
		return 0
	}
	value, err := strconv.ParseInt(n.Text, 10, 64)
	if err != nil || value < least || value > most {
		e.fail(n.Offset, at, "must be a whole number from %d to %d", least, most)
		return 0
	}
	return value
}
