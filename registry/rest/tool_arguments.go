package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
)

// arguments are the values of a call by name, as they were written.
type arguments map[string]json.RawMessage

// mistakes are what is wrong with the arguments of a call.
type mistakes struct{ list []registry.Problem }

// add notes a problem; nil is none.
func (m *mistakes) add(p *registry.Problem) {
	if p != nil && !m.full() {
		m.list = append(m.list, *p)
	}
}

// full reports whether more mistakes are of no interest.
func (m *mistakes) full() bool { return len(m.list) == 8 }

// err returns the error of a call, or nil if nothing is wrong.
func (m *mistakes) err(tool string) error {
	if len(m.list) == 0 {
		return nil
	}
	texts := make([]string, len(m.list))
	for i, p := range m.list {
		texts[i] = p.String()
	}
	return &registry.ArgumentsError{Tool: tool, Problems: m.list, Err: errors.New(strings.Join(texts, "; "))}
}

// read takes the arguments of a call apart, and adds the defaults of those that are
// missing. A registry has done so by the schema; a call past it gets no further
// with what the schema does not know either.
func (o *operation) read(raw json.RawMessage, m *mistakes) arguments {
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if problem := schemagate.CheckSyntax(raw); problem != nil {
		m.add(&registry.Problem{Path: problem.Path, Want: problem.Want, Got: problem.Got, Hint: problem.Note})
		return nil
	}
	if raw[0] != '{' {
		m.add(&registry.Problem{Want: "a JSON object", Got: kindOf(raw)})
		return nil
	}
	args := arguments{}
	for key, value := range jsonscan.Fields(raw) {
		if m.full() {
			return nil
		}
		if !slices.Contains(o.known, string(key)) {
			m.add(&registry.Problem{Path: schemagate.Member("", string(key)), Hint: "known are " + o.knownNames()})
			continue
		}
		args[string(key)] = value
	}
	for _, p := range o.params {
		if _, ok := args[p.Argument]; ok {
			continue
		}
		if p.fallback != nil {
			args[p.Argument] = p.fallback
		} else if p.needed() {
			m.add(&registry.Problem{Path: p.path(), Want: wanted(p.Schema)})
		}
	}
	if whole := o.body.whole; whole == "" || args[whole] != nil {
		return args
	} else if o.body.fallback != nil {
		args[whole] = o.body.fallback
	} else if o.body.required {
		m.add(&registry.Problem{Path: schemagate.Member("", whole), Want: "the body of the request"})
	}
	return args
}

func (o *operation) knownNames() string {
	if len(o.known) == 0 {
		return "none"
	}
	const most = 32
	names := make([]string, 0, most+1)
	for _, name := range o.known[:min(len(o.known), most)] {
		names = append(names, quoted(name))
	}
	if len(o.known) > most {
		names = append(names, "and more")
	}
	return strings.Join(names, ", ")
}

// wanted says in words what a schema plainly asks for.
func wanted(schema json.RawMessage) string {
	for key, value := range jsonscan.Fields(schema) {
		if string(key) == "type" && value[0] == '"' {
			switch kind, _ := jsonscan.String(value); kind {
			case "array", "integer", "object":
				return "an " + kind
			case "string", "number", "boolean":
				return "a " + kind
			}
		}
	}
	return "a value"
}
