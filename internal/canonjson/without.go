package canonjson

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Without returns an object, which is checked JSON, without a member: compact but for the
// values of the others, which keep their bytes. It returns the object itself if it has no such
// member.
func Without(object json.RawMessage, name string) json.RawMessage {
	out, found := []byte{'{'}, false
	for key, value := range jsonscan.Fields(object) {
		if string(key) == name {
			found = true
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(AppendString(out, string(key)), ':'), value...)
	}
	if !found {
		return object
	}
	return append(out, '}')
}
