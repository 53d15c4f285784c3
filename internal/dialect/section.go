package dialect

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Named returns the section of an object that has one member for each server.
func Named(n *jsonc.Node, at jsonc.Path) Section {
	s := Section{Container: n, At: at, Entries: make([]Entry, len(n.Members))}
	for i := range n.Members {
		m := &n.Members[i]
		s.Entries[i] = Entry{Title: m.Key, At: at.Key(m.Key), Offset: m.Offset, Value: &m.Value}
	}
	return s
}

// Listed returns the section of an array whose elements have a member "name".
func Listed(n *jsonc.Node, at jsonc.Path) Section {
	s := Section{Container: n, At: at, Entries: make([]Entry, len(n.Elems))}
	for i := range n.Elems {
		value := &n.Elems[i]
		e := Entry{At: at.Index(i), Offset: value.Offset, Value: value, Listed: true}
		name := value.Member("name")
		switch {
		case value.Kind != jsonc.Object: // which the reader of entries says
		case name == nil:
			e.Fault = &Fault{Offset: value.Offset, At: e.At, Text: "has no \"name\": each server of a list needs one"}
		case name.Value.Kind != jsonc.String:
			e.Fault = &Fault{Offset: name.Value.Offset, At: e.At.Key("name"),
				Text: fmt.Sprintf("must be a string, not %s", name.Value.Kind)}
		default:
			e.Title, e.Offset = name.Value.Text, name.Offset
		}
		s.Entries[i] = e
	}
	return s
}

// Fields returns the members of an entry as they stand there. A name in keys
// becomes the other one; one that is "" there is left out.
func Fields(e *Entry, keys map[string]string) []Field {
	fields := make([]Field, 0, len(e.Value.Members))
	for i := range e.Value.Members {
		m := &e.Value.Members[i]
		key, renamed := keys[m.Key]
		if !renamed {
			key = m.Key
		}
		if key == "" {
			continue
		}
		fields = append(fields, Field{
			Key: key, Written: m.Key, At: e.At.Key(m.Key), Offset: m.Offset, Value: &m.Value,
		})
	}
	return fields
}

// Text returns a string node that stands where n does.
func Text(n *jsonc.Node, text string) *jsonc.Node {
	return &jsonc.Node{Kind: jsonc.String, Offset: n.Offset, End: n.End, Text: text}
}

// Variable returns the reference to the environment variable that n names, or what is
// wrong with the name: a reference must not come to mean something else.
func Variable(n *jsonc.Node, at jsonc.Path) (*jsonc.Node, *Fault) {
	if n.Kind != jsonc.String {
		return nil, &Fault{Offset: n.Offset, At: at, Text: "must be the name of a variable, not " + n.Kind.String()}
	}
	const longest = 256
	for i := range len(n.Text) {
		switch c := n.Text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', '0' <= c && c <= '9' && i > 0:
		default:
			return nil, &Fault{Offset: n.Offset, At: at, Text: "is not the name of a variable: use letters, digits and _"}
		}
	}
	if n.Text == "" || len(n.Text) > longest {
		return nil, &Fault{Offset: n.Offset, At: at, Text: "is not the name of a variable: it is empty or too long"}
	}
	return Text(n, "${"+n.Text+"}"), nil
}
