package config

import (
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// readInputs reads what the user is asked for. A bad one is left out with a warning: the
// servers that refer to it then say so.
func (r *reading) readInputs() []Input {
	if r.dialect.Inputs == nil {
		return nil
	}
	list, at := r.dialect.Inputs(&r.doc.Root)
	if list == nil || list.Kind == jsonc.Null {
		return nil
	}
	if list.Kind != jsonc.Array {
		r.warn(list.Offset, at, "must be an array, not %s: it is ignored", list.Kind)
		return nil
	}
	var inputs []Input
	taken := make(map[string]bool)
	for i, n := range list.Elems {
		in := Input{ID: n.MemberText("id"), Type: n.MemberText("type"), Description: n.MemberText("description"), Default: n.MemberText("default"),
			Password: n.MemberText("password") == "true", Options: options(n.Member("options"))}
		why := ""
		switch {
		case n.Kind != jsonc.Object:
			why = "must be an object, not " + n.Kind.String() + ":"
		case in.ID == "":
			why = `has no "id":`
		case in.Type != inputPrompt && in.Type != inputPick && in.Type != inputCommand:
			why = `has no known "type": write promptString, pickString or command;`
		case in.Type == inputPick && len(in.Options) == 0:
			why = `has no "options" to choose from:`
		case taken[in.ID]:
			why = `has the "id" of another input:`
		default:
			taken[in.ID] = true
			inputs = append(inputs, in)
			continue
		}
		r.warn(n.Offset, at.Index(i), "%s it is ignored", why)
	}
	return inputs
}

// options reads the answers to choose from: strings, or objects with a value.
func options(m *jsonc.Member) (list []string) {
	for i := 0; m != nil && i < len(m.Value.Elems); i++ {
		value := &m.Value.Elems[i]
		if m := value.Member("value"); m != nil {
			value = &m.Value
		}
		if value.Kind == jsonc.String {
			list = append(list, value.Text)
		}
	}
	return list
}
