package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/internal/memo"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/internal/textguard"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// openTo reports whether who calls under ctx may know of the tool, if that is an app.
func (e *entry) openTo(ctx context.Context) bool {
	server, isApp := onbehalf.AppOf(ctx)
	return !isApp || e.def.ForApps() && e.def.Origin.Server == server
}

// An entry is a tool of the catalogue, with what the registry knows of it. It is
// never changed.
type entry struct {
	tool Tool
	def  *Definition

	server   *Server         // nil for a native tool
	hints    Hints           // what the annotations claim
	surface  *ledger.Surface // nil for a native tool
	checked  []gate.Finding  // of the gate, about the tool by itself
	findings []gate.Finding  // of the gate, about its place among others too
	checks   checks          // how arguments and results are checked
	memory   *memory         // shared by all entries of tools that say the same

	change *ledger.Change // why it is quarantined; nil: it is listed, unless it is hidden
	hidden bool           // it can be called, and is not listed
	offer  *offer         // what it was made of
}

// A memory is what was found out about a definition, and made of it.
type memory struct {
	cell     memo.Cell
	examined bool // the gate let its schemas pass as they are listed
}

// trusted reports whether the tool's claims are believed.
func (e *entry) trusted() bool { return e.server == nil || e.server.Trusted }

// listed reports whether models are told of the tool.
func (e *entry) listed() bool { return e.change == nil && !e.hidden && !e.def.appOnly }

// listedFor is listed, for a caller that may show apps: it keeps from its model what is
// for them.
func (e *entry) listedFor(ctx context.Context) bool {
	return e.listed() || e.change == nil && e.def.appOnly && onbehalf.ShowsApps(ctx)
}

// busy returns why a call of the tool would be refused now, or nil.
func (e *entry) busy(ctx context.Context, args json.RawMessage) error {
	if e.server == nil || e.server.Busy == nil {
		return nil
	}
	err := e.server.Busy(ctx, len(args))
	if limit, ok := errors.AsType[*mcp.LimitError](err); ok {
		return &ArgumentsError{Tool: e.def.Name, Err: fmt.Errorf("must be shorter: they have %d bytes: %w", len(args), limit)}
	}
	return err
}

// An offer is a tool that was put into the registry. Its entry depends on the other
// offers and on the ledger.
type offer struct {
	entry                          // as offered
	derived bool                   // the registry's scheme makes its name
	placed  atomic.Pointer[entry]  // its entry in the newest snapshot; nil: none. Registry.mu guards changes.
	subject atomic.Pointer[string] // of approvals; nil: not made yet
}

// complete fills in what the registry wants to know of a tool. Like is an offer
// of the same tool from before, or nil; what has not changed is taken from there.
func (o *offer) complete(server *Server, like *offer) {
	o.server = server
	if o.as(like) {
		o.hints, o.surface, o.checks, o.memory = like.hints, like.surface, like.checks, like.memory
		return
	}
	o.hints = o.def.Hints()
	o.checks = checksOf(o.tool, o.def)
	o.memory = &memory{}
	if server != nil {
		o.surface = o.def.asServed().Surface()
	}
}

// as reports whether nothing is new about a tool since like was offered: neither
// what is listed, nor what its server says beneath that, nor the kind of tool.
func (o *offer) as(like *offer) bool {
	return like != nil && like.def.equal(o.def) && like.def.asServed().equal(o.def.asServed()) &&
		reflect.TypeOf(like.tool) == reflect.TypeOf(o.tool)
}

// place makes the entry of an offer.
func (o *offer) place(change *ledger.Change) *entry {
	e := o.entry
	e.change, e.offer = change, o
	return &e
}

// listedForm returns a tool of a server as it is listed: with schemas in the keywords of today,
// without an output schema that cannot be used and, unless the server is trusted, without the characters that models read and people do not
// see. The ledger compares what the server says.
func listedForm(t Tool, def *Definition, trusted bool) (Tool, *Definition) {
	form := *def
	form.served, form.Raw = def.asServed(), nil
	raw := def.Raw
	if !trusted {
		form.Title, form.Description = textguard.Strip(def.Title), textguard.Strip(def.Description)
		form.InputSchema, form.OutputSchema = result.StripHiddenJSON(def.InputSchema), result.StripHiddenJSON(def.OutputSchema)
		form.RawAnnotations, raw = result.StripHiddenJSON(def.RawAnnotations), result.StripHiddenJSON(raw)
		if a := def.Annotations; a != nil && a.Title != textguard.Strip(a.Title) {
			shown := *a
			shown.Title = textguard.Strip(a.Title)
			form.Annotations = &shown
		}
	}
	form.InputSchema, _, _ = schemagate.Modern(form.InputSchema)
	if form.OutputSchema != nil {
		form.OutputSchema = gate.UsableOutput(form.OutputSchema)
	}
	if form.saysAs(def) && bytes.Equal(raw, def.Raw) {
		return t, def
	}
	return redefine(t, &form), &form
}

// checks say how the arguments and results of a tool are checked. Nothing is compiled before
// the first call.
type checks struct{ input, output *schemagate.Key } // nil: not by a schema

// checksOf prepares what is needed to check a tool's arguments and results.
func checksOf(t Tool, def *Definition) checks {
	if _, itself := t.(selfChecking); itself {
		return checks{}
	}
	c := checks{input: new(schemagate.KeyOf(def.InputSchema))}
	if _, remote := t.(*remote); !remote && len(def.OutputSchema) > 0 {
		c.output = new(schemagate.KeyOf(def.OutputSchema))
	}
	return c
}

// A selfChecking tool checks its arguments, and makes its results from Go types.
type selfChecking interface{ checksItself() }
