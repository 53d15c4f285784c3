package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
)

// Unmap turns the arguments that a model wrote for the compiled schema into those
// of the tool's own schema. Values that are not written in another form keep their bytes,
// and so do those that the model wrote in the tool's own form after all. Empty arguments
// stay empty. It does not check them: the registry does.
//
// The error is a [*registry.ArgumentsError]: args is not JSON, or has a name twice,
// or would have after it was turned back.
func (t *Tool) Unmap(args json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		return args, nil
	}
	if p := schemagate.CheckSyntax(args); p != nil {
		return nil, t.refused(registry.Problem{Path: p.Path, Want: p.Want, Got: p.Got, Hint: p.Note})
	}
	if t.codec == nil {
		return args, nil
	}
	u := unmapper{data: args}
	end := len(bytes.TrimRight(args, " \t\r\n"))
	start := len(args) - len(bytes.TrimLeft(args, " \t\r\n"))
	out := append(make([]byte, 0, len(args)+64), args[:start]...)
	out = u.value(out, start, end, t.codec, "")
	if u.problem != nil {
		return nil, t.refused(*u.problem)
	}
	return append(out, args[end:]...), nil
}

func (t *Tool) refused(p registry.Problem) error {
	return &registry.ArgumentsError{Tool: t.Name, Problems: []registry.Problem{p}, Err: errors.New(p.String())}
}

// An unmapper turns checked JSON back.
type unmapper struct {
	data    []byte
	problem *registry.Problem
}

// part is a member or an element, and where it stands.
type part struct {
	name       string
	key        int // where the name begins
	start, end int // of the value
}

// value appends what the value from start to end stands for.
func (u *unmapper) value(dst []byte, start, end int, k *codec, path string) []byte {
	for k != nil && k.def != nil {
		k = k.def.codec
	}
	raw := u.data[start:end]
	switch {
	case k == nil || u.problem != nil:
	case raw[0] == '{' && len(k.fields) > 0:
		return u.object(dst, start, end, k, path)
	case raw[0] == '[' && k.items != nil:
		return u.array(dst, start, end, k, path)
	}
	return append(dst, raw...)
}

// before returns where the part before part i ends, or the container begins.
func (*unmapper) before(parts []part, i, start int) int {
	if i == 0 {
		return start
	}
	return parts[i-1].end
}

// members returns the members of the object from start to end.
func (u *unmapper) members(start, end int) []part {
	var all []part
	c := jsonscan.Walk(u.data[start:end])
	last := start + 1
	for name := range c.Members() {
		m := part{name: string(name), key: last + bytes.IndexByte(u.data[last:], '"'), start: start + c.Pos()}
		m.end = m.start + len(c.Value())
		last = m.end
		all = append(all, m)
	}
	return all
}

// elements returns the elements of the array from start to end.
func (u *unmapper) elements(start, end int) []part {
	var all []part
	c := jsonscan.Walk(u.data[start:end])
	for range c.Elements() {
		e := part{start: start + c.Pos()}
		e.end = e.start + len(c.Value())
		all = append(all, e)
	}
	return all
}

func (u *unmapper) array(dst []byte, start, end int, k *codec, path string) []byte {
	parts := u.elements(start, end)
	for i, p := range parts {
		dst = append(dst, u.data[u.before(parts, i, start):p.start]...)
		dst = u.value(dst, p.start, p.end, k.items, path+"["+strconv.Itoa(i)+"]")
	}
	return append(dst, u.data[u.before(parts, len(parts), start):end]...)
}

// object appends an object with its members called by their own names, and without
// those that are null because they are missing.
func (u *unmapper) object(dst []byte, start, end int, k *codec, path string) []byte {
	parts := u.members(start, end)
	written := make(map[string]bool, len(parts))
	kept := 0
	// next appends what stands before a member that is kept.
	next := func(name string, i int) bool {
		if written[name] {
			u.twice(path, name)
			return false
		}
		written[name] = true
		if kept++; kept == 1 {
			dst = append(dst, u.data[start:u.first(parts, start, end)]...)
		} else {
			dst = append(dst, u.data[parts[i-1].end:parts[i].key]...)
		}
		return true
	}
	for i, p := range parts {
		f, known := k.fields[p.name]
		if !known {
			f.name = p.name
		}
		if f.optional && u.data[p.start] == 'n' {
			continue
		}
		if !next(f.name, i) {
			return dst
		}
		if f.name == p.name {
			dst = append(dst, u.data[p.key:p.start]...)
		} else {
			dst = append(canonjson.AppendString(dst, f.name), ':')
		}
		dst = u.value(dst, p.start, p.end, f.codec, schemagate.Member(path, p.name))
	}
	if kept == 0 {
		if len(parts) == 0 {
			return append(dst, u.data[start:end]...)
		}
		return append(dst, "{}"...)
	}
	return append(dst, u.data[parts[len(parts)-1].end:end]...)
}

// first returns where the first member begins.
func (*unmapper) first(parts []part, start, end int) int {
	if len(parts) == 0 {
		return end - 1
	}
	return parts[0].key
}

func (u *unmapper) twice(path, name string) {
	if u.problem == nil {
		u.problem = &registry.Problem{Path: schemagate.Member(path, name), Want: "there once", Got: "there twice"}
	}
}
