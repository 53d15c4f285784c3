package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A key is one of an object of ours.
type key struct {
	names string // ours, and behind it those of other programs, with spaces between them
	read  func(n *jsonc.Node, at jsonc.Path)
}

// set returns what reads the value of a key.
func set[T any](to *T, read func(n *jsonc.Node, at jsonc.Path) T) func(n *jsonc.Node, at jsonc.Path) {
	return func(n *jsonc.Node, at jsonc.Path) { *to = read(n, at) }
}

// setText is set for a text that may not be had.
func setText(to *string, read func(n *jsonc.Node, at jsonc.Path) (string, bool)) func(n *jsonc.Node, at jsonc.Path) {
	return func(n *jsonc.Node, at jsonc.Path) { *to, _ = read(n, at) }
}

// object reads an object of ours, such as "auth". An unknown key is a fault if strict: a
// misspelled limit would let everything through.
func (e *entry) object(n *jsonc.Node, at jsonc.Path, strict bool, keys ...key) {
	if !e.check(n, at, jsonc.Object) {
		return
	}
	var known, others []string
	read := make(map[string]func(n *jsonc.Node, at jsonc.Path))
	for _, k := range keys {
		names := strings.Fields(k.names)
		known, others = append(known, names[0]), append(others, names[1:]...)
		for _, name := range names {
			read[name] = k.read
		}
	}
	known = append(known, others...)
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
		case read[key] != nil:
			seen[key] = true
			read[key](&m.Value, at)
		case strict:
			quoted := make([]string, len(known))
			for i, key := range known {
				quoted[i] = strconv.Quote(key)
			}
			e.fail(m.Offset, at, "unknown key: write %s", oneOf(quoted))
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

// oneOf writes words as a choice: a, b or c.
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// choice returns what reads one of some words.
func (e *entry) choice(what string, words ...string) func(n *jsonc.Node, at jsonc.Path) string {
	return func(n *jsonc.Node, at jsonc.Path) string {
		switch {
		case !e.check(n, at, jsonc.String):
		case slices.Contains(words, n.Text):
			return n.Text
		default:
			e.fail(n.Offset, at, "unknown %s: write %s", what, oneOf(words))
		}
		return ""
	}
}

// boolOf returns the value of a node that must be true or false.
func (e *entry) boolOf(n *jsonc.Node, at jsonc.Path) bool {
	return e.check(n, at, jsonc.Bool) && n.Text == "true"
}

// textOf returns the value of a node that must be a string, as written.
func (e *entry) textOf(n *jsonc.Node, at jsonc.Path) string {
	if !e.check(n, at, jsonc.String) {
		return ""
	}
	return n.Text
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
