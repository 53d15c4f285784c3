package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// decodeResult decodes a result, or returns what the server needs first.
func decodeResult(raw json.RawMessage, modern bool, fields ...field) (*inputRequired, error) {
	if !isObject(raw) {
		return nil, at("result", wrongKind(raw, anObject))
	}
	var kind *string
	need := &inputRequired{}
	err := decodeObject(raw, append(fields,
		field{name: "resultType", into: &kind},
		field{name: "inputRequests", into: by(&need.requests, decodeRequests)},
		field{name: "requestState", into: &need.state},
	)...)
	switch {
	case err != nil:
		return nil, err
	case kind == nil || *kind == kindComplete:
		return nil, nil
	case *kind == kindInputRequired && modern:
		return need, nil
	}
	return nil, at("resultType", unknownResult(*kind))
}

// finished returns a decoded result, unless the server needs something first or a member is missing.
func finished[T any](res *T, need *inputRequired, err error, member string, missing bool) (*T, *inputRequired, error) {
	switch {
	case need != nil || err != nil:
		return nil, need, err
	case missing:
		return nil, nil, at(member, errMissing)
	}
	return res, nil, nil
}

// decodeReadResult decodes an answer to resources/read.
func decodeReadResult(raw json.RawMessage, modern bool) (*ReadResourceResult, *inputRequired, error) {
	res := &ReadResourceResult{}
	need, err := decodeResult(raw, modern,
		field{name: "contents", into: arrayOf(&res.Contents, decodeContentsOf)},
		field{name: "ttlMs", into: func(value []byte) error {
			ttl, _ := decodeInteger(value) // a hint, and no more
			res.TTLMs = int(ttl)
			return nil
		}},
		field{name: "cacheScope", into: func(value []byte) error { res.CacheScope, _ = jsonscan.String(value); return nil }},
		field{name: "_meta", into: func(value []byte) error { _ = optional(&res.Meta, value); return nil }},
	)
	return finished(res, need, err, "contents", res.Contents == nil)
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
	res := &GetPromptResult{}
	need, err := decodeResult(raw, modern,
		field{name: "description", into: &res.Description},
		field{name: "messages", into: arrayOf(&res.Messages, decodePromptMessage)},
		field{name: "_meta", into: func(value []byte) error { _ = optional(&res.Meta, value); return nil }},
	)
	return finished(res, need, err, "messages", res.Messages == nil)
}

func decodePromptMessage(raw []byte) (*sdk.PromptMessage, error) {
	m := &sdk.PromptMessage{}
	err := decodeObject(raw,
		field{name: "role", into: (*string)(&m.Role)},
		field{name: "content", into: func(value []byte) (err error) {
			c := jsonscan.Walk(value)
			m.Content, err = decodeContent(&c)
			return err
		}},
	)
	switch {
	case err != nil:
		return nil, err
	case m.Role != roleUser && m.Role != roleAssistant:
		return nil, at("role", fmt.Errorf("%.80q is neither user nor assistant", m.Role))
	case m.Content == nil:
		return nil, at("content", errMissing)
	}
	return m, nil
}

// maxCompletions is how many values the protocol allows in one answer.
const maxCompletions = 100

// decodeCompletion decodes an answer to completion/complete. Values beyond those
// that the protocol allows are cut off.
func decodeCompletion(raw json.RawMessage, _ bool) (*CompleteResult, *inputRequired, error) {
	res := &CompleteResult{}
	details := &res.Completion
	var total int64
	_, err := decodeResult(raw, false,
		field{name: "completion", into: func(value []byte) error {
			return decodeObject(value,
				field{name: "values", into: arrayOf(&details.Values, func(value []byte) (string, error) {
					text, ok := jsonscan.String(value)
					if !ok {
						return "", wrongKind(value, aString)
					}
					return text, nil
				})},
				field{name: "total", into: &total},
				field{name: "hasMore", into: &details.HasMore},
			)
		}},
		field{name: "_meta", into: func(value []byte) error { _ = optional(&res.Meta, value); return nil }},
	)
	details.Total = int(total)
	if len(details.Values) > maxCompletions {
		details.Values = details.Values[:maxCompletions:maxCompletions]
		details.HasMore = true
	}
	return finished(res, nil, err, "completion.values", details.Values == nil)
}

// decodeStruct decodes a type of the official SDK. The member need must not be empty.
func decodeStruct[T any](raw []byte, need string, more ...field) (*T, error) {
	v := new(T)
	return decoded(v, decodeObject(raw, append(fieldsOf(v, need), more...)...))
}

// loosely has fields take what can be read. What cannot is zero, and told of.
func loosely(fields []field, flaw func(into reflect.Value, value []byte)) []field {
	for i, f := range fields {
		fields[i].into = func(value []byte) error {
			if into := reflect.ValueOf(f.into).Elem(); decodeInto(f.into, value) != nil {
				into.SetZero()
				flaw(into, value)
			}
			return nil
		}
	}
	return fields
}

// decodeItem decodes an item of a list. A flaw in what is optional, which is all that is no text, does not cost the item.
func decodeItem[T any](raw []byte, need string, more ...field) (v *T, flawed bool, err error) {
	v = new(T)
	var loose []field
	for _, f := range fieldsOf(v, need) {
		switch into := f.into.(type) {
		case *string:
			more = append(more, f)
		case *[]sdk.Icon:
			more = append(more, field{name: f.name, into: func(value []byte) (err error) {
				*into, err = decodeIcons(value)
				flawed = flawed || err != nil || len(*into) < len(slices.Collect(jsonscan.Elements(value)))
				return nil
			}})
		default:
			loose = append(loose, f)
		}
	}
	more = append(more, loosely(loose, func(reflect.Value, []byte) { flawed = true })...)
	v, err = decoded(v, decodeObject(raw, more...))
	return v, flawed, err
}

func decodePrompt(raw []byte, _ bool) (*Prompt, bool, error) {
	var arguments []*sdk.PromptArgument
	p, flawed, err := decodeItem[Prompt](raw, "name", field{name: "arguments", into: arrayOf(&arguments, func(raw []byte) (*sdk.PromptArgument, error) {
		return decodeStruct[sdk.PromptArgument](raw, "name")
	})})
	if err == nil {
		p.Arguments = arguments
	}
	return p, flawed, err
}
