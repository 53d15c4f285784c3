package profile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
)

// Pieces joins the pieces of a streamed message of Chat Completions, with all that they
// have: servers that copy the API add members for which SDKs have no field, and want them
// back. The zero value is ready for use.
type Pieces struct {
	places  Places
	message map[string]any
	calls   []map[string]any
}

// Add adds the delta of a chunk, as JSON. The error says that it is none.
func (p *Pieces) Add(delta json.RawMessage) error {
	var piece map[string]any
	dec := json.NewDecoder(bytes.NewReader(delta))
	dec.UseNumber()
	if err := dec.Decode(&piece); err != nil {
		return err
	}
	calls, _ := piece["tool_calls"].([]any)
	delete(piece, "tool_calls")
	p.message = joinObjects(p.message, piece)
	for _, c := range calls {
		call, ok := c.(map[string]any)
		if !ok {
			continue
		}
		var index *int
		if n, ok := call["index"].(json.Number); ok {
			if at, err := n.Int64(); err == nil {
				index = new(int)
				*index = int(at)
			}
		}
		id, _ := call["id"].(string)
		function, _ := call["function"].(map[string]any)
		name, _ := function["name"].(string)
		arguments, _ := function["arguments"].(string)
		at := p.places.Of(id, index, name, arguments)
		if at == len(p.calls) {
			p.calls = append(p.calls, nil)
		}
		delete(call, "index")
		p.calls[at] = joinObjects(p.calls[at], call)
	}
	return nil
}

// Message returns the message so far, as JSON.
func (p *Pieces) Message() json.RawMessage {
	whole := joinObjects(map[string]any{"role": "assistant"}, p.message)
	if p.calls != nil {
		whole["tool_calls"] = p.calls
	}
	data, err := json.Marshal(whole)
	if err != nil {
		return json.RawMessage(`{"role":"assistant"}`) // it has been read as JSON before
	}
	return data
}

// joinObjects returns an object with what a piece adds to it.
func joinObjects(whole, piece map[string]any) map[string]any {
	if whole == nil {
		whole = map[string]any{}
	}
	for name, value := range piece {
		if text, ok := value.(string); value == nil || ok && text == "" && whole[name] != nil {
			continue
		}
		switch name {
		case "id", "index", "type", "role", "name", "format":
			whole[name] = value
		default:
			whole[name] = join(whole[name], value)
		}
	}
	return whole
}

// join returns a value with what a piece adds to it: texts are parts of one text, and so are
// those in an element of the same index.
func join(whole, piece any) any {
	switch more := piece.(type) {
	case string:
		if text, ok := whole.(string); ok {
			return text + more
		}
	case map[string]any:
		if object, ok := whole.(map[string]any); ok {
			return joinObjects(object, more)
		}
	case []any:
		list, ok := whole.([]any)
		if !ok {
			break
		}
		for _, element := range more {
			next, _ := element.(map[string]any)
			last, _ := list[max(len(list)-1, 0):][0].(map[string]any)
			if next["index"] != nil && next["index"] == last["index"] && next["type"] == last["type"] {
				list[len(list)-1] = joinObjects(last, next)
			} else {
				list = append(list, element)
			}
		}
		return list
	}
	return piece
}

// Places says which call of a streamed message a piece belongs to. Servers that copy the API
// of OpenAI give several calls one index, or send the id with each piece, or neither: an id
// counts before an index, and a name behind whole arguments begins another call. The zero
// value is ready for use.
type Places struct{ begun []begun }

// begun is a call of which a piece has come.
type begun struct {
	id        string
	index     *int
	name      string
	arguments []byte
}

// Of returns the place of the call in its message, from 0, by what the piece has.
func (p *Places) Of(id string, index *int, name, arguments string) int {
	at := -1
	for i, c := range slices.Backward(p.begun) {
		if (id == "" || c.id == "" || id == c.id) && (index == nil || c.index == nil || *index == *c.index) {
			at = i
			break
		}
	}
	if at >= 0 && (id == "" || p.begun[at].id == "") && index == nil && at != len(p.begun)-1 {
		at = len(p.begun) - 1
	}
	if at >= 0 && (id == "" || index == nil) && name != "" && p.begun[at].name != "" && json.Valid(p.begun[at].arguments) &&
		(index == nil || arguments != "" || name != p.begun[at].name) {
		at = -1
	}
	for i, c := range slices.Backward(p.begun) {
		if at < 0 && name == "" && arguments != "" && index != nil && c.index != nil && *index == *c.index && !json.Valid(c.arguments) {
			at = i
		}
	}
	if at < 0 {
		at = len(p.begun)
		p.begun = append(p.begun, begun{id: id, index: index})
	}
	c := &p.begun[at]
	c.id, c.name = cmp.Or(c.id, id), cmp.Or(name, c.name)
	c.arguments = append(c.arguments, arguments...)
	return at
}
