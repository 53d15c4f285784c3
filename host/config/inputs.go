package config

import (
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// inputs reads what the user is asked for. A bad one is left out with a warning: the
// servers that refer to it then say so.
func (p *parser) inputs() []Input {
	if p.dialect.Inputs == nil {
		return nil
	}
	list, at := p.dialect.Inputs(&p.doc.Root)
	if list == nil || list.Kind == jsonc.Null {
		return nil
	}
	if list.Kind != jsonc.Array {
		p.warn(list.Offset, at, "must be an array, not %s: it is ignored", list.Kind)
		return nil
	}
	var inputs []Input
	taken := make(map[string]bool)
	for i := range list.Elems {
		in, ok := p.input(&list.Elems[i], at.Index(i))
		if !ok {
			continue
		}
		if taken[in.ID] {
			p.warn(list.Elems[i].Offset, at.Index(i), "has the \"id\" of another input: it is ignored")
			continue
		}
		taken[in.ID] = true
		inputs = append(inputs, in)
	}
	return inputs
}

// input reads one of them and reports whether it can be used.
func (p *parser) input(n *jsonc.Node, at jsonc.Path) (Input, bool) {
	var in Input
	if n.Kind != jsonc.Object {
		p.warn(n.Offset, at, "must be an object, not %s: it is ignored", n.Kind)
		return in, false
	}
	ok := true
	text := func(key string) string {
		m := n.Member(key)
		if m == nil || m.Value.Kind == jsonc.Null {
			return ""
		}
		if m.Value.Kind != jsonc.String {
			p.warn(m.Value.Offset, at.Key(key), "must be a string, not %s: the input is ignored", m.Value.Kind)
			ok = false
		}
		return m.Value.Text
	}
	in.ID, in.Type, in.Description, in.Default = text("id"), text("type"), text("description"), text("default")
	if m := n.Member("password"); m != nil {
		in.Password = m.Value.Kind == jsonc.Bool && m.Value.Text == "true"
	}
	if m := n.Member("options"); m != nil {
		in.Options = options(&m.Value)
	}
	switch {
	case !ok:
	case in.ID == "":
		p.warn(n.Offset, at, "has no \"id\": it is ignored")
		ok = false
	case in.Type != inputPrompt && in.Type != inputPick && in.Type != inputCommand:
		p.warn(n.Offset, at, "has no known \"type\": write promptString, pickString or command; it is ignored")
		ok = false
	case in.Type == inputPick && len(in.Options) == 0:
		p.warn(n.Offset, at, "has no \"options\" to choose from: it is ignored")
		ok = false
	}
	return in, ok
}

// options reads the answers to choose from: strings, or objects with a value.
func options(n *jsonc.Node) []string {
	var list []string
	for i := range n.Elems {
		value := &n.Elems[i]
		if m := value.Member("value"); m != nil {
			value = &m.Value
		}
		if value.Kind == jsonc.String {
			list = append(list, value.Text)
		}
	}
	return list
}
