package result

import (
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
		if raw := res.Raw(); raw != nil && jsonscan.IsPlain(raw) {
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
	if jsonscan.IsPlain(value) || jsonscan.Valid(value) != nil { // a hidden character is no ASCII, or escaped
		return value
	}
	return canonjson.MapStrings(value, func(quoted, _ []byte) (string, bool) {
		if jsonscan.IsPlain(quoted) {
			return "", false
		}
		text, _ := jsonscan.String(quoted)
		plain := textguard.Strip(text)
		return plain, plain != text
	})
}
