package profile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A Set is what [Compile] made of some tools. It does not change, and is safe for
// concurrent use.
type Set struct {
	provider Provider
	textOnly bool // see TurnOptions
	tools    []*Tool
	rejected []Rejection
	byName   map[string]*Tool // by what the provider calls them, and else by the registry's names
}

// Compile shapes tools for a provider. The order of the tools is kept, and the
// result depends on nothing but the arguments: what is sent to the provider is the
// same each time, and its cache of the prompt stays of use.
//
// A tool that cannot be told to the provider is not in the set; see [Set.Rejected].
// The error says that the provider is not known.
func Compile(p Provider, tools []registry.Tool, opts *Options) (*Set, error) {
	return compileFrom(nil, p, tools, opts)
}

// compileFrom is Compile, and remembers what it makes of the tools of a snapshot, which
// may be nil.
func compileFrom(snapshot *registry.Snapshot, p Provider, tools []registry.Tool, opts *Options) (*Set, error) {
	d, ok := rulesOf(p)
	if !ok {
		return nil, unknownProvider(p)
	}
	o := *cmp.Or(opts, new(Options))
	s := &Set{provider: p, tools: make([]*Tool, 0, len(tools)), byName: make(map[string]*Tool, len(tools))}
	made := make([]Tool, 0, len(tools)) // in one piece: most of the work of a turn is to make them
	shaper := newShaper(snapshot, d, &o)
	for _, t := range tools {
		var def *registry.Definition
		if t != nil {
			def = t.Definition()
		}
		if err := s.usable(def); err != nil {
			s.rejected = append(s.rejected, Rejection{def, err})
			continue
		}
		made = append(made, Tool{})
		compiled := &made[len(made)-1]
		if err := shaper.tool(compiled, def); err != nil {
			made = made[:len(made)-1]
			s.rejected = append(s.rejected, Rejection{def, err})
			continue
		}
		s.tools = append(s.tools, compiled)
		s.byName[def.Name] = compiled
	}
	s.name(d)
	return s, nil
}

// usable refuses a definition that no provider can be told, and one that cannot be called.
func (s *Set) usable(def *registry.Definition) error {
	if def == nil {
		return &registry.DefinitionError{Err: errors.New("the tool has no definition")}
	}
	if def.Name == "" {
		return &registry.DefinitionError{Field: "Name", Err: errors.New("is empty")}
	}
	if holder, ok := s.byName[def.Name]; ok {
		return &registry.DuplicateError{Name: def.Name, Holder: holder.Definition.Origin, Refused: def.Origin}
	}
	return nil
}

// name gives the tools their names.
func (s *Set) name(d *ruleset) {
	names := make([]string, len(s.tools))
	for i, t := range s.tools {
		names[i] = t.Name
	}
	for i, name := range assignNames(names, func(i int) nameRule { return d.nameOf(s.tools[i].Deferred) }) {
		if name == names[i] {
			continue
		}
		t := s.tools[i]
		t.Name = name
		loss := Loss{Effect: Recoded, Detail: fmt.Sprintf("the provider does not take the name %s; it is called %s", quoted(names[i]), name)}
		t.Losses = append([]Loss{loss}, t.Losses...)
		s.byName[name] = t // its own name stays: one that the provider takes is no other tool's
	}
}

// Tools returns the tools in the order in which they came. Do not change the slice.
func (s *Set) Tools() []*Tool { return s.tools }

// Provider returns whose form the tools have.
func (s *Set) Provider() Provider { return s.provider }

// Searching reports whether a tool is deferred: the request needs the provider's
// own search tool then.
func (s *Set) Searching() bool {
	return slices.ContainsFunc(s.tools, func(t *Tool) bool { return t.Deferred })
}

// Programs reports whether programs may call a tool: the request needs the
// provider's own tool that runs them then.
func (s *Set) Programs() bool { return slices.ContainsFunc(s.tools, (*Tool).Programs) }

// Parts returns a result in the parts that the provider takes, see [Parts], and those without
// data if [TurnOptions].TextOnly says so.
func (s *Set) Parts(res *mcp.CallToolResult) []Part {
	parts := Parts(s.provider, res)
	for i := range parts {
		if s.textOnly {
			parts[i].Data, parts[i].Type = nil, ""
		}
	}
	return parts
}

// Rejected returns the tools that cannot be told to the provider, and why: those
// whose schema cannot be used or takes no object, and those whose name is there
// twice. Do not change the slice.
func (s *Set) Rejected() []Rejection { return s.rejected }

// Lookup returns the tool that the provider calls name; if there is none, the one
// that the registry calls so, for models write that, too.
func (s *Set) Lookup(name string) (*Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// Unmap turns a call of the model back into one of the registry: name is as for
// [Set.Lookup], args is what the model wrote. A name that is not in the
// set is returned with its arguments as they are. The error is that of [Tool.Unmap].
func (s *Set) Unmap(name string, args json.RawMessage) (string, json.RawMessage, error) {
	t, ok := s.byName[name]
	if !ok {
		return name, args, nil
	}
	args, err := t.Unmap(args)
	return t.Definition.Name, args, err
}

// Call calls a tool of the registry by the name that the provider has for it, with
// the arguments that the model wrote. A name that is not in the set means what it
// means to the registry, such as a tool which the model found by a search, or one whose
// name it misspelled: what may be called is up to the registry, not to the set.
//
// The error is that of [Tool.Unmap] or of [registry.Registry.Call].
func (s *Set) Call(ctx context.Context, r *registry.Registry, name string, args json.RawMessage) (*mcp.CallToolResult, error) {
	if def, ok := s.resolve(r, name); ok {
		name = def.Name
	}
	own, mapped, err := s.Unmap(name, args)
	if err != nil && schemagate.CheckSyntax(args) == nil {
		return nil, err
	}
	if err != nil {
		mapped = args // the registry refuses them, too, and its observers hear of it
	}
	return r.Call(ctx, own, mapped)
}

// resolve returns the definition of the tool that a model calls by a name.
func (s *Set) resolve(r *registry.Registry, name string) (*registry.Definition, bool) {
	if s == nil {
		panic("profile: the zero Turn is not usable: make it with NewTurn")
	}
	if t, ok := s.byName[name]; ok {
		return t.Definition, true
	}
	return r.Resolve(name)
}
