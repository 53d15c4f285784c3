package dialect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Under returns the section of the servers below a key of an object, which is at a path:
// an object with one member for each server or, if these kinds are allowed too, a list of
// servers with names, or null for none. If the key is absent, the fault says how
// to write it, by default as an object.
func Under(holder *jsonc.Node, at jsonc.Path, key, absent string, allowed ...jsonc.Kind) ([]Section, *Fault) {
	m := holder.Member(key)
	if m == nil {
		object := fmt.Sprintf("the file has no %[1]q object: put the servers in {%[1]q: {}}", key)
		return nil, &Fault{Offset: holder.Offset, Text: cmp.Or(absent, object), Absent: true}
	}
	at = at.Key(key)
	switch kind := m.Value.Kind; {
	case kind == jsonc.Object:
		return []Section{Named(&m.Value, at)}, nil
	case !slices.Contains(allowed, kind):
		return nil, NotServers(&m.Value, at)
	case kind == jsonc.Array:
		return []Section{Listed(&m.Value, at)}, nil
	}
	return nil, nil
}

// NotServers is the fault of a value that should hold servers.
func NotServers(n *jsonc.Node, at jsonc.Path) *Fault {
	return &Fault{Offset: n.Offset, At: at,
		Text: "must be an object with one member per server, such as {\"files\": {\"command\": \"npx\"}}, not " + n.Kind.String()}
}

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

// Inside returns the members of the value of a field as [Fields] does.
func (f *Field) Inside(keys map[string]string) []Field {
	return Fields(&Entry{At: f.At, Value: f.Value}, keys)
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
	if n.Text == "" || len(n.Text) > MaxVariable || NameLength(n.Text) < len(n.Text) {
		return nil, &Fault{Offset: n.Offset, At: at, Text: "is not the name of a variable: use letters, digits and _"}
	}
	return Text(n, "${"+n.Text+"}"), nil
}

// Variables returns a variable of the process for each name in f, which is a list of them,
// or of objects with a name. What is wrong with f is appended to the faults.
func (f *Field) Variables(faults []Fault) ([]Field, []Fault) {
	if f.Value.Kind != jsonc.Array && f.Value.Kind != jsonc.Null {
		return nil, append(faults, Fault{Offset: f.Value.Offset, At: f.At, Text: "must be a list of names of variables, not " + f.Value.Kind.String()})
	}
	var list []Field
	for i := range f.Value.Elems {
		n, at := &f.Value.Elems[i], f.At.Index(i)
		if source := n.MemberText("source"); source != "" && source != "local" {
			continue // of another machine, as Codex has them
		}
		if m := n.Member("name"); m != nil {
			n, at = &m.Value, at.Key("name")
		}
		v, fault := Variable(n, at)
		if fault != nil {
			faults = append(faults, *fault)
			continue
		}
		list = append(list, Field{Key: "env", Written: f.Written, Name: n.Text, At: at, Offset: n.Offset, Value: v})
	}
	return list, faults
}
