package config

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

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

// object reads an object of ours, such as "auth". An unknown key is a fault if strict: a
// misspelled limit would let everything through.
func (e *entry) object(n *jsonc.Node, at jsonc.Path, strict bool, keys ...key) {
	if !e.check(n, at, jsonc.Object) {
		return
	}
	var known, others []string
	for _, k := range keys {
		names := strings.Fields(k.names)
		known, others = append(known, names[0]), append(others, names[1:]...)
	}
	known = append(known, others...)
	const most = 100 // hints take time, see extra
	unknown := 0
	seen := make(map[int]bool)
	for _, m := range n.Members {
		at := at.Key(m.Key)
		name := e.ours(m.Key, known)
		row := slices.IndexFunc(keys, func(k key) bool { return slices.Contains(strings.Fields(k.names), name) })
		switch {
		case m.Value.Kind == jsonc.Null:
		case row >= 0 && seen[row]:
			e.fail(m.Offset, at, "stands here twice, in two spellings: remove one of them")
		case row >= 0:
			seen[row] = true
			keys[row].read(&m.Value, at)
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

// A rule returns what is wrong with a text, or "".
type rule func(text string) string

// text returns n expanded, or "" if that breaks a rule.
func (e *entry) text(n *jsonc.Node, at jsonc.Path, rules ...rule) string {
	return e.ruled(n, at, false, rules...)
}

// ruled is text, in which inputs and the keyring may wait for the approval, or not.
func (e *entry) ruled(n *jsonc.Node, at jsonc.Path, mayWait bool, rules ...rule) string {
	text, ok := e.expanded(n, at, mayWait)
	for _, wrong := range rules {
		if why := wrong(text); ok && why != "" {
			e.fail(n.Offset, at, "%s", why)
			return ""
		}
	}
	return text
}

// required is the rule for what may not be empty, and says what to do.
func required(cure string) rule {
	return func(text string) string {
		if strings.TrimSpace(text) == "" {
			return "is empty: " + cure
		}
		return ""
	}
}

// system returns n expanded as a text that is handed to the operating system.
func (e *entry) system(n *jsonc.Node, at jsonc.Path) string { return e.text(n, at, noNUL) }

func noNUL(text string) string {
	if strings.ContainsRune(text, 0) {
		return "holds a NUL byte: remove it"
	}
	return ""
}

// visible returns n expanded as a text without control characters.
func (e *entry) visible(n *jsonc.Node, at jsonc.Path) string { return e.text(n, at, noControls) }

func noControls(text string) string {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "holds a line break or a control character: remove it from the value or its variable"
	}
	return ""
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
