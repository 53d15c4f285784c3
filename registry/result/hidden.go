package result

import (
	"bytes"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/textguard"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// StripHidden returns res without the characters that models read and people do not
// see; res itself if it has none. Bytes of images and the like stay as they are. If only
// what no field of res holds has such characters, the raw form alone is taken away.
func StripHidden(res *mcp.CallToolResult) *mcp.CallToolResult {
	if res == nil {
		return nil
	}
	if len(res.Content) == 0 { // it may only be skipped
		if raw := res.Raw(); raw != nil && !mayHide(raw) {
			return res
		}
		res = res.WithContent()
	}
	res = mapStructured(mapTexts(res, textguard.Strip), StripHiddenJSON)
	return res.CheckRaw(func(raw json.RawMessage) bool { return same(StripHiddenJSON(raw), raw) })
}

// StripHiddenJSON returns JSON without such characters in its strings, written out or escaped;
// value itself if it has none, or is no JSON.
func StripHiddenJSON(value json.RawMessage) json.RawMessage {
	if !mayHide(value) || jsonscan.Valid(value) != nil {
		return value
	}
	var out []byte
	copied := 0
	for at := 0; at < len(value); at++ {
		if value[at] != '"' {
			continue
		}
		start := at
		for at++; value[at] != '"'; at++ {
			if value[at] == '\\' {
				at++
			}
		}
		quoted := value[start : at+1]
		if !mayHide(quoted) {
			continue
		}
		text, ok := jsonscan.String(quoted)
		plain := textguard.Strip(text)
		if !ok || plain == text {
			continue
		}
		out = append(out, value[copied:start]...)
		out = canonjson.AppendString(out, plain)
		copied = at + 1
	}
	if out == nil {
		return value
	}
	return append(out, value[copied:]...)
}

// mayHide spares most JSON the search: a character that is hidden is written as more
// than one byte, or escaped.
func mayHide(value []byte) bool {
	return !textguard.IsASCII(value) || bytes.Contains(value, []byte(`\u`))
}
