package message

import (
	"bytes"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// WithMeta returns an object, such as a result, with a member in its _meta.
func WithMeta(result json.RawMessage, key string, value []byte) json.RawMessage {
	meta := jsonscan.Member(result, "_meta")
	if !IsObject(meta) {
		meta = json.RawMessage(`{}`)
	}
	return WithMember(result, "_meta", WithMember(meta, key, value))
}

// WithMember returns the object with one member of another value. All else keeps its bytes.
func WithMember(object json.RawMessage, key string, value []byte) json.RawMessage {
	walk := jsonscan.Walk(object)
	for k := range walk.Members() {
		if string(k) != key {
			continue
		}
		from := walk.Pos()
		walk.Skip()
		to := from + len(walk.From(from))
		out := make([]byte, 0, len(object)+len(value))
		out = append(append(out, object[:from]...), value...)
		return append(out, object[to:]...)
	}
	return AddMember(object, key, value)
}

// AddMember returns the object with one member more, which comes first.
// Another kind of value stays what it is.
func AddMember(object json.RawMessage, key string, value []byte) json.RawMessage {
	if !IsObject(object) {
		return object
	}
	open := bytes.IndexByte(object, '{')
	if open < 0 {
		object, open = json.RawMessage(`{}`), 0
	}
	rest := object[open+1:]
	out := make([]byte, 0, len(object)+len(key)+len(value)+4)
	out = append(append(append(append(out, `{"`...), key...), `":`...), value...)
	for _, c := range rest {
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			continue
		}
		if c != '}' {
			out = append(out, ',')
		}
		break
	}
	return append(out, rest...)
}

// Quoted returns a text as JSON.
func Quoted(s string) []byte { return Marshal(s) }

// Marshal encodes what always encodes, without the escapes that are for HTML pages.
func Marshal(v any) json.RawMessage {
	data, err := canonjson.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// Text returns a member that is a string.
func Text(object json.RawMessage, path ...string) (string, bool) {
	return jsonscan.String(jsonscan.Member(object, path...))
}

// IsObject reports whether a value that was scanned is an object, or the empty list that PHP writes for an empty one.
func IsObject(value json.RawMessage) bool {
	walk := jsonscan.Walk(value)
	kind := walk.Kind()
	for range walk.Elements() {
		return false
	}
	return kind == '{' || kind == '['
}

// String returns a member that is a string; empty if it is not there or no string.
func String(value json.RawMessage) string {
	s, _ := jsonscan.String(value)
	return s
}
