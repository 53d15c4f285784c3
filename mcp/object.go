package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// oneLine returns JSON that is checked without the line breaks between its tokens. In
// strings there are none.
func oneLine(value json.RawMessage) json.RawMessage {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return value
	}
	line := bytes.Clone(value)
	jsonscan.OneLine(line)
	return line
}

// membersOf takes an object apart.
func membersOf(object json.RawMessage) ([]member, error) {
	if len(object) == 0 {
		return nil, nil
	}
	if err := jsonscan.Valid(object); err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	walk := jsonscan.Walk(object)
	if kind := walk.Kind(); kind != '{' {
		return nil, fmt.Errorf("params: %w", &kindError{kind, anObject})
	}
	var members []member
	for key, value := range jsonscan.Fields(object) {
		if string(key) == "_meta" {
			return nil, errors.New("params: _meta belongs into the options")
		}
		members = append(members, member{string(key), oneLine(value)})
	}
	return members, nil
}

// appendQuoted appends text as a JSON string.
func appendQuoted(out []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // a string always encodes
			return append(out, quoted...)
		}
	}
	return append(append(append(out, '"'), text...), '"')
}

// A member is one member of a JSON object.
type member struct {
	key   string
	value json.RawMessage
}

// object writes a JSON object, leaving out members without a value.
func object(members ...member) json.RawMessage {
	return appendMembers([]byte{'{'}, members...)
}

// appendMembers appends members to an object, and its end. Those without a
// value are left out.
func appendMembers(object []byte, members ...member) []byte {
	for _, m := range members {
		if m.value == nil {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(appendQuoted(object, m.key), ':'), m.value...)
	}
	return append(object, '}')
}

// withMeta returns an object with further members of _meta, in the place of those of their names.
func withMeta(params json.RawMessage, more ...member) json.RawMessage {
	members, meta := []member{{}}, more[:len(more):len(more)]
	for key, value := range jsonscan.Fields(jsonscan.Member(params, "_meta")) {
		if !slices.ContainsFunc(more, func(m member) bool { return m.key == string(key) }) {
			meta = append(meta, member{string(key), value})
		}
	}
	for key, value := range jsonscan.Fields(params) {
		if string(key) != "_meta" {
			members = append(members, member{string(key), value})
		}
	}
	members[0] = member{"_meta", object(meta...)}
	return object(members...)
}
