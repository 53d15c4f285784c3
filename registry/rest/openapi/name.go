package openapi

import (
	"strconv"
	"strings"
)

// maxName is how long a name of a tool or argument becomes: what all providers of
// models take.
const maxName = 64

// nameOf makes a name of a text: the characters A-Z a-z 0-9 _ - and the dot stay, and
// what lies between becomes one _ each.
func nameOf(text string, most int) string {
	name := cutName(strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return !(r|0x20 >= 'a' && r|0x20 <= 'z' && r < 0x80 || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.')
	}), "_"), most)
	if trimmed := strings.TrimLeft(name, ".-"); trimmed != name {
		name = strings.TrimLeft(trimmed, "._-")
	}
	return strings.TrimRight(name, ".-")
}

func cutName(name string, most int) string { return name[:min(len(name), most)] }

// names gives each thing a name of its own.
type names struct{ next map[string]int }

// take returns the name, with a number behind it if it is taken. Names that differ in
// case only are one name to some readers.
func (n *names) take(name string) string {
	if n.next == nil {
		n.next = map[string]int{}
	}
	key := strings.ToLower(name)
	one := name
	for i := max(2, n.next[key]); n.next[strings.ToLower(one)] > 0; i++ {
		end := "_" + strconv.Itoa(i)
		one = cutName(name, maxName-len(end)) + end
		n.next[key] = i + 1
	}
	n.next[strings.ToLower(one)] = max(1, n.next[strings.ToLower(one)])
	return one
}
