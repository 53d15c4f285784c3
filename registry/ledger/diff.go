package ledger

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Bounds of what a [Change] shows.
const (
	maxFieldChanges = 32  // differences
	maxFieldValue   = 240 // characters of a value
	maxFieldPath    = 256 // bytes of a JSON pointer
	fieldContext    = 40  // characters before the first one that differs
)

// surfaceDiff collects the differences of two surfaces.
type surfaceDiff struct {
	fields []FieldChange
	more   int // differences that are not in fields
}

// diffSurfaces compares canonical JSON: objects by key, arrays by index.
func diffSurfaces(before, after []byte) surfaceDiff {
	var d surfaceDiff
	d.compare(nil, before, after)
	return d
}

// compare compares the values at path; nil is no value.
func (d *surfaceDiff) compare(path []string, before, after []byte) {
	if bytes.Equal(before, after) {
		return
	}
	switch {
	case len(before) > 0 && len(after) > 0 && before[0] == '{' && after[0] == '{':
		d.objects(path, membersOf(before), membersOf(after))
	case len(before) > 0 && len(after) > 0 && before[0] == '[' && after[0] == '[':
		d.arrays(path, elementsOf(before), elementsOf(after))
	case len(d.fields) == maxFieldChanges:
		d.more++
	default:
		b, a := showPair(before, after)
		d.fields = append(d.fields, FieldChange{Field: pointer(path), Before: b, After: a})
	}
}

type jsonMember struct {
	key   string
	value []byte
}

func membersOf(object []byte) []jsonMember {
	var members []jsonMember
	for key, value := range jsonscan.Fields(object) {
		members = append(members, jsonMember{string(key), value})
	}
	return members
}

func elementsOf(array []byte) [][]byte {
	var elements [][]byte
	for e := range jsonscan.Elements(array) {
		elements = append(elements, e)
	}
	return elements
}

// objects compares members key by key, in the order of before, then what is new.
func (d *surfaceDiff) objects(path []string, before, after []jsonMember) {
	later := make(map[string][]byte, len(after))
	for _, m := range after {
		later[m.key] = m.value
	}
	for _, m := range before {
		d.compare(append(path, m.key), m.value, later[m.key])
		delete(later, m.key)
	}
	for _, m := range after {
		if value, ok := later[m.key]; ok {
			d.compare(append(path, m.key), nil, value)
		}
	}
}

func (d *surfaceDiff) arrays(path []string, before, after [][]byte) {
	for i := range max(len(before), len(after)) {
		var b, a []byte
		if i < len(before) {
			b = before[i]
		}
		if i < len(after) {
			a = after[i]
		}
		d.compare(append(path, strconv.Itoa(i)), b, a)
	}
}

// pointer returns a JSON pointer that is safe to print, cut off if it is long.
func pointer(path []string) string {
	var text strings.Builder
	for _, key := range path {
		text.WriteByte('/')
		text.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
		if text.Len() > maxFieldPath {
			break
		}
	}
	quoted := visible(canonjson.AppendString(nil, cutText(text.String(), maxFieldPath)))
	return quoted[1 : len(quoted)-1]
}

// cutText cuts text off after most bytes, and says so.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

func visible(canonical []byte) string { return string(canonjson.AppendVisible(nil, canonical)) }

// showPair returns two values as they are shown: strings that are long are cut
// around what differs, other values at their end.
func showPair(before, after []byte) (string, string) {
	b, isText := jsonscan.String(before)
	a, isText2 := jsonscan.String(after)
	if !isText || !isText2 {
		return showValue(before), showValue(after)
	}
	br, ar := []rune(b), []rune(a)
	same := 0
	for same < len(br) && same < len(ar) && br[same] == ar[same] {
		same++
	}
	return showText(br, same), showText(ar, same)
}

func showValue(value []byte) string {
	if text, ok := jsonscan.String(value); ok {
		return showText([]rune(text), 0)
	}
	return cutText(visible(value), maxFieldValue)
}

// showText returns text as JSON, of which at most maxFieldValue characters around
// the one at are kept.
func showText(text []rune, at int) string {
	start, end := 0, len(text)
	if len(text) > maxFieldValue {
		start = min(max(at-fieldContext, 0), len(text)-maxFieldValue)
		end = start + maxFieldValue
	}
	shown := string(text[start:end])
	if start > 0 {
		shown = "…" + shown
	}
	if end < len(text) {
		shown += "…"
	}
	return visible(canonjson.AppendString(nil, shown))
}
