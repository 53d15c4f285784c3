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
	in := Input{ID: n.MemberText("id"), Type: n.MemberText("type"), Description: n.MemberText("description"), Default: n.MemberText("default"),
		Password: n.MemberText("password") == "true"}
	if m := n.Member("options"); m != nil {
		in.Options = options(&m.Value)
	}
	switch {
	case n.Kind != jsonc.Object:
		p.warn(n.Offset, at, "must be an object, not %s: it is ignored", n.Kind)
	case in.ID == "":
		p.warn(n.Offset, at, "has no \"id\": it is ignored")
	case in.Type != inputPrompt && in.Type != inputPick && in.Type != inputCommand:
		p.warn(n.Offset, at, "has no known \"type\": write promptString, pickString or command; it is ignored")
	case in.Type == inputPick && len(in.Options) == 0:
		p.warn(n.Offset, at, "has no \"options\" to choose from: it is ignored")
	default:
		return in, true
	}
	return in, false
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
