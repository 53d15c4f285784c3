package profile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A Set is what [Compile] made of some tools. It does not change, and is safe for
// concurrent use.
type Set struct {
	tools    []*Tool
	rejected []Rejection
	byName   map[string]*Tool // by what the provider calls them, and else by the registry's names
}

// Compile shapes tools for a provider. The order of the tools is kept, and the
// result depends on nothing but the arguments: what is sent to the provider is the
// same each time, and its cache of the prompt stays of use.
//
// A tool that cannot be told to the provider is not in the set; see [Set.Rejected].
// The error is an [*UnknownProviderError].
func Compile(p Provider, tools []registry.Tool, opts *Options) (*Set, error) {
	d, ok := dietOf(p)
	if !ok {
		return nil, &UnknownProviderError{p}
	}
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.MaxSchemaBytes <= 0 {
		o.MaxSchemaBytes = defaultSchemaBytes
	}
	s := &Set{byName: make(map[string]*Tool, len(tools))}
	held := make(map[string]registry.Origin, len(tools))
	for _, t := range tools {
		var def *registry.Definition
		if t != nil {
			def = t.Definition()
		}
		if err := usable(def, held); err != nil {
			s.rejected = append(s.rejected, Rejection{def, err})
			continue
		}
		compiled, err := compileTool(d, def, &o)
		if err != nil {
			s.rejected = append(s.rejected, Rejection{def, err})
			continue
		}
		held[def.Name] = def.Origin
		s.tools = append(s.tools, compiled)
	}
	s.name(d)
	return s, nil
}

// usable refuses what no provider can be told, and what nobody could call.
func usable(def *registry.Definition, held map[string]registry.Origin) error {
	if def == nil {
		return &registry.DefinitionError{Err: errors.New("the tool has no definition")}
	}
	if def.Name == "" {
		return &registry.DefinitionError{Field: "Name", Err: errors.New("is empty")}
	}
	if holder, ok := held[def.Name]; ok {
		return &registry.DuplicateError{Name: def.Name, Holder: holder, Refused: def.Origin}
	}
	if err := schemagate.Check(def.InputSchema, schemagate.Limits{}); err != nil {
		return &registry.DefinitionError{Tool: def.Name, Field: "InputSchema", Err: fmt.Errorf("cannot be used: %w", err)}
	}
	return nil
}

// compileTool makes all of a tool but its name.
func compileTool(d *diet, def *registry.Definition, o *Options) (*Tool, error) {
	t := &Tool{Name: def.Name, Definition: def, provider: d.provider}
	t.Deferred = d.deferral && o.Deferred != nil && o.Deferred(def)
	c := newCompiler(d, readNode(def.InputSchema), o.MaxSchemaBytes)
	if t.Description = description(def.Description); t.Description != "" && d.chatDescription > 0 && t.Description != cutText(t.Description, d.chatDescription) {
		c.losses.add(DescriptionCut, Unsaid, nil, "the description has more than %d characters; Chat Completions takes no more, so ChatDeclaration cuts it", d.chatDescription)
	}
	out, err := c.compile()
	if err != nil {
		return nil, &registry.DefinitionError{Tool: def.Name, Field: "InputSchema", Err: err}
	}
	if d.strict {
		out = c.strict(out)
	}
	t.Schema, t.Strict, t.codec = out.schema.append(nil), out.strict, out.codec
	if d.callers {
		t.AllowedCallers = callersOf(def, o)
	}
	if d.output && t.Programs() {
		t.OutputSchema = outputOf(def, o, &c.losses)
	}
	t.Losses = c.losses.list()
	return t, nil
}

// description returns a description that every provider takes: UTF-8 without NUL,
// and empty if there is nothing to read.
func description(text string) string {
	if strings.TrimFunc(text, unicode.IsSpace) == "" {
		return ""
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// name gives the tools their names.
func (s *Set) name(d *diet) {
	names := make([]string, len(s.tools))
	for i, t := range s.tools {
		names[i] = t.Name
	}
	for i, name := range assignNames(names, func(i int) nameRule { return d.nameOf(s.tools[i].Deferred) }) {
		t := s.tools[i]
		if t.Name = name; name != names[i] {
			loss := Loss{Kind: NameChanged, Effect: Recoded, Detail: fmt.Sprintf("the provider does not take the name %s; it is called %s", quoted(names[i]), name)}
			t.Losses = append([]Loss{loss}, t.Losses...)
		}
		s.byName[name] = t
		s.byName[names[i]] = t // one that the provider takes is nobody else's
	}
}

// Tools returns the tools in the order in which they came. Do not change the slice.
func (s *Set) Tools() []*Tool { return s.tools }

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
	if def, ok := s.meant(r, name); ok {
		name = def.Name
	}
	name, args, err := s.Unmap(name, args)
	if err != nil {
		return nil, err
	}
	return r.Call(ctx, name, args)
}

// meant returns the definition of the tool that a model calls by a name.
func (s *Set) meant(r *registry.Registry, name string) (*registry.Definition, bool) {
	if s == nil {
		panic("profile: the zero Turn is not usable: make it with NewTurn")
	}
	if t, ok := s.byName[name]; ok {
		return t.Definition, true
	}
	return r.Resolve(name)
}
