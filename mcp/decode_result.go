package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// A resultHead is what tells a result from a question of the server's.
type resultHead struct {
	kind  string
	named bool // there is a kind
	need  inputRequired
}

// take takes a member of a result that belongs to the head.
func (h *resultHead) take(key, value []byte) (err error) {
	switch string(key) {
	case "resultType":
		h.named = string(value) != "null"
		err = decodeString(&h.kind, key, value)
	case "inputRequests":
		h.need.requests, err = decodeRequests(key, value)
	case "requestState":
		if string(value) != "null" {
			h.need.state = value
		}
	}
	return err
}

// asks returns what the server needs first, or nil if the result is complete.
func (h *resultHead) asks(modern bool) (*inputRequired, error) {
	switch {
	case h.kind == kindComplete || !h.named:
		return nil, nil
	case h.kind == kindInputRequired && modern:
		return &h.need, nil
	}
	return nil, at("resultType", unknownKind(h.kind))
}

// decodeEach decodes the elements of an array.
func decodeEach[T any](key, value []byte, decode func([]byte) (T, error)) ([]T, error) {
	if string(value) == "null" {
		return nil, nil
	}
	if value[0] != '[' {
		return nil, at(string(key), errNotArray)
	}
	list := []T{}
	for element := range jsonscan.Elements(value) {
		item, err := decode(element)
		if err != nil {
			return nil, at(fmt.Sprintf("%s[%d]", key, len(list)), err)
		}
		list = append(list, item)
	}
	return list, nil
}

// decodeReadResult decodes an answer to resources/read.
func decodeReadResult(raw json.RawMessage, modern bool) (*ReadResourceResult, *inputRequired, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil, at("result", errNotObject)
	}
	res := &ReadResourceResult{}
	var head resultHead
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "contents":
			res.Contents, err = decodeEach(key, value, decodeContentsOf)
		case "ttlMs":
			ttl, _ := decodeInteger(key, value) // a hint, and no more
			res.TTLMs = int(ttl)
		case "cacheScope":
			res.CacheScope, _ = jsonscan.String(value)
		case "_meta":
			res.Meta, err = decodeAs[Meta](key, value)
		default:
			err = head.take(key, value)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if need, err := head.asks(modern); need != nil || err != nil {
		return nil, need, err
	}
	if res.Contents == nil {
		return nil, nil, at("contents", errMissing)
	}
	return res, nil, nil
}

// decodeContentsOf decodes contents, which must say of which resource they are.
// Without text and bytes they are an empty text, which many servers leave out.
func decodeContentsOf(raw []byte) (*ResourceContents, error) {
	r, err := decodeResource(raw)
	if err != nil {
		return nil, err
	}
	if r.URI == "" {
		return nil, at("uri", errMissing)
	}
	return r, nil
}

// decodePromptResult decodes an answer to prompts/get.
func decodePromptResult(raw json.RawMessage, modern bool) (*GetPromptResult, *inputRequired, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil, at("result", errNotObject)
	}
	res := &GetPromptResult{}
	var head resultHead
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "description":
			err = decodeString(&res.Description, key, value)
		case "messages":
			res.Messages, err = decodeEach(key, value, decodePromptMessage)
		case "_meta":
			res.Meta, err = decodeAs[Meta](key, value)
		default:
			err = head.take(key, value)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if need, err := head.asks(modern); need != nil || err != nil {
		return nil, need, err
	}
	if res.Messages == nil {
		return nil, nil, at("messages", errMissing)
	}
	return res, nil, nil
}

func decodePromptMessage(raw []byte) (*PromptMessage, error) {
	if raw[0] != '{' {
		return nil, errNotObject
	}
	m := &PromptMessage{}
	var role string
	var err error
	walk := jsonscan.Walk(raw)
	for key := range walk.Members() {
		switch string(key) {
		case "role":
			err = decodeString(&role, key, walk.Value())
		case "content":
			m.Content, err = decodeContent(&walk)
			err = at("content", err)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case role != "user" && role != "assistant":
		return nil, at("role", fmt.Errorf("%.80q is neither user nor assistant", role))
	case m.Content == nil:
		return nil, at("content", errMissing)
	}
	m.Role = Role(role)
	return m, nil
}

// maxCompletions is how many values the protocol allows in one answer.
const maxCompletions = 100

// decodeCompletion decodes an answer to completion/complete. Values beyond those
// that the protocol allows are cut off.
func decodeCompletion(raw json.RawMessage) (*CompleteResult, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, at("result", errNotObject)
	}
	res := &CompleteResult{}
	var head resultHead
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "completion":
			err = at(string(key), decodeValues(res, value))
		case "_meta":
			res.Meta, err = decodeAs[Meta](key, value)
		case "resultType":
			err = head.take(key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := head.asks(false); err != nil {
		return nil, err
	}
	if res.Completion.Values == nil {
		return nil, at("completion.values", errMissing)
	}
	return res, nil
}

func decodeValues(res *CompleteResult, raw []byte) error {
	if raw[0] != '{' {
		return errNotObject
	}
	details := &res.Completion
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "values":
			details.Values, err = decodeEach(key, value, func(raw []byte) (text string, err error) {
				text, ok := jsonscan.String(raw)
				if !ok {
					err = errNotString
				}
				return text, err
			})
		case "total":
			var total int64
			total, err = decodeInteger(key, value)
			details.Total = int(total)
		case "hasMore":
			details.HasMore, err = decodeBool(key, value)
		}
		if err != nil {
			return err
		}
	}
	if len(details.Values) > maxCompletions {
		details.Values = details.Values[:maxCompletions:maxCompletions]
		details.HasMore = true
	}
	return nil
}
