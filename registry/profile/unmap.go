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

// part is a member, and where it stands.
type part struct {
	name       string
	from, key  int // where the text before it begins, and the name
	start, end int // of the value
}

// value appends what the value from start to end stands for.
func (u *unmapper) value(dst []byte, start, end int, k *codec, path string) []byte {
	k = k.of(u.data[start])
	switch {
	case k == nil || u.problem != nil:
	case u.data[start] == '{' && len(k.fields) > 0:
		return u.object(dst, start, end, k, path)
	case u.data[start] == '[' && k.items != nil:
		return u.array(dst, start, end, k, path)
	}
	return append(dst, u.data[start:end]...)
}

func (u *unmapper) array(dst []byte, start, end int, k *codec, path string) []byte {
	c, at := jsonscan.Walk(u.data[start:end]), start
	for i := range c.Elements() {
		from := start + c.Pos()
		dst = append(dst, u.data[at:from]...)
		at = from + len(c.Value())
		dst = u.value(dst, from, at, k.items, path+"["+strconv.Itoa(i)+"]")
	}
	return append(dst, u.data[at:end]...)
}

// members returns the members of the object from start to end.
func (u *unmapper) members(start, end int) []part {
	var all []part
	c, at := jsonscan.Walk(u.data[start:end]), start
	for name := range c.Members() {
		m := part{name: string(name), from: at, key: at + bytes.IndexByte(u.data[at:], '"'), start: start + c.Pos()}
		m.end = m.start + len(c.Value())
		at = m.end
		all = append(all, m)
	}
	return all
}

// object appends an object with its members called by their own names, and without
// those that are null because they are missing.
func (u *unmapper) object(dst []byte, start, end int, k *codec, path string) []byte {
	parts := u.members(start, end)
	written := make(map[string]bool, len(parts))
	for _, p := range parts {
		f, known := k.fields[p.name]
		if !known {
			f.name = p.name
		}
		if f.optional && u.data[p.start] == 'n' {
			continue
		}
		if written[f.name] {
			if u.problem == nil {
				u.problem = &registry.Problem{Path: schemagate.Member(path, f.name), Want: "there once", Got: "there twice"}
			}
			return dst
		}
		if len(written) == 0 {
			dst = append(dst, u.data[start:parts[0].key]...)
		} else {
			dst = append(dst, u.data[p.from:p.key]...)
		}
		written[f.name] = true
		if f.name == p.name {
			dst = append(dst, u.data[p.key:p.start]...)
		} else {
			dst = append(canonjson.AppendString(dst, f.name), ':')
		}
		dst = u.value(dst, p.start, p.end, f.codec, schemagate.Member(path, p.name))
	}
	switch {
	case len(parts) == 0:
		return append(dst, u.data[start:end]...)
	case len(written) == 0:
		return append(dst, "{}"...)
	}
	return append(dst, u.data[parts[len(parts)-1].end:end]...)
}
