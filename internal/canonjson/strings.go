package canonjson

import (
	"bytes"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// MapStrings returns JSON with those strings, keys included, replaced that f changes: it gets
// each with its quotes, and what is behind it. All other bytes stay. If f changes none, it is
// data itself. Data may be another text that has strings of JSON in it.
func MapStrings(data []byte, f func(quoted, rest []byte) (text string, changed bool)) []byte {
	var out []byte
	copied := 0 // up to where data is in out
	for at := 0; ; {
		quote := bytes.IndexByte(data[at:], '"')
		if quote < 0 {
			break
		}
		start := at + quote
		end, closed := jsonscan.EndOfString(data, start)
		if !closed {
			break
		}
		if text, changed := f(data[start:end], data[end:]); changed {
			out = AppendString(append(out, data[copied:start]...), text)
			copied = end
		}
		at = end
	}
	if copied == 0 {
		return data
	}
	return append(out, data[copied:]...)
}
