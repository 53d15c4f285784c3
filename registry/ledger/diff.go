package ledger

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// Bounds of what a [Change] shows.
const (
	maxFieldChanges = 32  // differences
	maxFieldValue   = 240 // characters of a value
	maxFieldPath    = 256 // bytes of a JSON pointer
	fieldContext    = 40  // characters before the first one that differs
)

// compare adds the differences of two values at a path, which are canonical JSON: objects by key, in the
// order of before and then what is new, arrays by index. Nil is no value.
func (c *Change) compare(path []string, before, after []byte) {
	if bytes.Equal(before, after) {
		return
	}
	both := func(first byte) bool {
		return len(before) > 0 && len(after) > 0 && before[0] == first && after[0] == first
	}
	switch {
	case both('{'):
		later := map[string][]byte{}
		for key, value := range jsonscan.Fields(after) {
			later[string(key)] = value
		}
		for key, value := range jsonscan.Fields(before) {
			c.compare(append(path, string(key)), value, later[string(key)])
			delete(later, string(key))
		}
		for key := range jsonscan.Fields(after) {
			if value, ok := later[string(key)]; ok {
				c.compare(append(path, string(key)), nil, value)
			}
		}
	case both('['):
		was, is := slices.Collect(jsonscan.Elements(before)), slices.Collect(jsonscan.Elements(after))
		for i := range max(len(was), len(is)) {
			c.compare(append(path, strconv.Itoa(i)), elementAt(was, i), elementAt(is, i))
		}
	case len(c.Fields) == maxFieldChanges:
		c.More++
	default:
		b, a := showPair(before, after)
		c.Fields = append(c.Fields, FieldChange{Field: pointer(path), Before: b, After: a})
	}
}

func elementAt(elements [][]byte, i int) []byte {
	if i < len(elements) {
		return elements[i]
	}
	return nil
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
	quoted := visible(canonjson.AppendString(nil, plain.Cut(text.String(), maxFieldPath)))
	return quoted[1 : len(quoted)-1]
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
	return plain.Cut(visible(value), maxFieldValue)
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
