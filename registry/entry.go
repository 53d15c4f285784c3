package registry

import (
	"errors"
	"fmt"
	"reflect"
)

// An entry is a tool of the catalogue, with what the registry knows of it. It is
// never changed once it is in a snapshot.
type entry struct {
	tool Tool
	def  *Definition

	server   *Server   // nil for a native tool
	hints    Hints     // what the annotations claim
	surface  *surface  // nil for a native tool
	findings []Finding // of the gate
	change   *Change   // why it is quarantined; nil: it is listed
	input    checks    // how arguments are checked
}

// trusted reports whether the tool's claims are believed.
func (e *entry) trusted() bool { return e.server == nil || e.server.Trusted }

// describe asks t for its definition. It fails for tools that have none.
func describe(t Tool) (*entry, error) {
	if v := reflect.ValueOf(t); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, &DefinitionError{Err: errors.New("the tool is nil")}
	}
	def := t.Definition()
	if def == nil {
		return nil, &DefinitionError{Err: fmt.Errorf("a %T has no definition", t)}
	}
	return &entry{tool: t, def: def}, nil
}

// describeAll asks all tools for their definitions, without a lock: they are
// foreign code.
func describeAll(tools []Tool) ([]*entry, error) {
	entries := make([]*entry, len(tools))
	for i, t := range tools {
		var err error
		if entries[i], err = describe(t); err != nil {
			return nil, err
		}
	}
	return entries, nil
}
