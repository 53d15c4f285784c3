package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// Call calls the tool of that name as it is listed now. Args must be a JSON
// object; empty or null means {}. A name that no tool has stands for the one tool
// that it can mean if case, separators and a lost prefix do not count. A call of call_tool is one of the tool that it names. The call
// goes this way:
//
//   - If the server's calls fail at once now, see [Server].Busy, so does this one: before
//     work is done for it and the Approver is asked.
//   - The arguments are checked against the input schema, and completed by its defaults. Nothing that
//     is there is changed.
//   - The [Approver] decides, and sees the arguments as they are then.
//   - The middleware of [Registry.Use], and then the tool, get the call.
//   - The result is checked against the output schema, and shaped, see
//     [result.Options]. That of a server that is not [Server].Trusted loses the characters
//     that models read and people do not see, in texts, links and strings of structured
//     content. Middleware gets it as it came. A result that nothing of this has changed
//     keeps its [mcp.CallToolResult.Raw].
//
// A name that is not listed fails with an [*UnknownToolError]; if its server is known
// not to be ready, see [Registry.Explain], with a [*NotReadyError]; or, if the ledger
// holds the tool back and the policy.Policy does not deny it to the user of ctx, with a
// [*QuarantinedError]; arguments that do not fit with an
// [*ArgumentsError]; a call that may not be made with an [*ApprovalRequiredError],
// a [*approval.DeniedError] or a [*approval.PolicyError]. In all these cases neither middleware nor
// tool has run. A tool that returns nothing at all, or what its output schema
// forbids, fails with a [*ResultError]. Any other error is the tool's own.
func (r *Registry) Call(ctx context.Context, name string, args json.RawMessage) (*mcp.CallToolResult, error) {
	return r.makeCall(ctx, name, args, false)
}

// Forward is [Registry.Call] for a caller that passes a result on by its [mcp.CallToolResult.Raw]. The
// Content of a result that has a Raw may be empty, as SkipContent of [mcp.RequestOptions] leaves it: if
// it came from a server and nothing here looks at it, such as middleware of [Registry.Use], an output
// schema, or [Options].Results.
func (r *Registry) Forward(ctx context.Context, name string, args json.RawMessage) (*mcp.CallToolResult, error) {
	return r.makeCall(ctx, name, args, true)
}

// makeCall makes a call, which observers hear of.
func (r *Registry) makeCall(ctx context.Context, name string, args json.RawMessage, forward bool) (*mcp.CallToolResult, error) {
	err := r.made()
	if err == nil && ctx == nil {
		err = errors.New("registry: the context is nil")
	}
	if err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	if len(r.observers.all()) == 0 {
		return r.call(ctx, name, args, new(Observation), forward)
	}
	o := &Observation{Kind: Called, Name: name, Arguments: args, User: userOf(ctx), Conversation: onbehalf.ConversationOf(ctx), CallID: CallIDOf(ctx)}
	if call := onbehalf.CallOf(ctx); call.Mended != nil { // calls within it are none of the model's
		o.Mended, call.Mended = call.Mended, nil
		ctx = onbehalf.WithCall(ctx, call)
	}
	return r.observed(ctx, o, func(ctx context.Context, o *Observation) (*mcp.CallToolResult, error) {
		return r.call(ctx, name, args, o, false)
	})
}

// call makes a call, stage by stage, and notes in o which call it is.
func (r *Registry) call(ctx context.Context, name string, args json.RawMessage, o *Observation, forward bool) (*mcp.CallToolResult, error) {
	e, args, err := r.resolve(ctx, name, args, o) // which tool
	if err != nil {
		return nil, err
	}
	o.Tool, o.Arguments = e.def, args
	if err := e.busy(ctx, args); err != nil { // is there room for it
		return nil, err
	}
	if args, err = r.check(ctx, e, args); err != nil { // do the arguments fit
		return nil, err
	}
	ctx = jsonscan.WithChecked(ctx, args)
	if o.Kind != "" { // observers get a copy, since the tool may write to the arguments
		o.Arguments = bytes.Clone(args)
	}
	if err := r.approvals.decide(ctx, e, args); err != nil { // may it be called
		return nil, err
	}
	o.Passed = true
	return r.carryOut(ctx, e, args, forward)
}

// carryOut makes a call that was decided: the last three stages.
func (r *Registry) carryOut(ctx context.Context, e *entry, args json.RawMessage, forward bool) (*mcp.CallToolResult, error) {
	res, err := r.run(ctx, e, args, forward)      // the middleware and the tool
	if output, ok := err.(*mcp.OutputError); ok { // a model may see what it holds
		own := *output
		own.Result = r.shape(ctx, e, output.Result)
		return res, &own
	}
	if err != nil {
		return res, err
	}
	if err := r.verify(e, res); err != nil { // does the result fit
		return nil, err
	}
	return r.shape(ctx, e, res), nil // what the caller gets of it
}

// A relay is a hidden tool, see [Registry.AddHidden], whose calls are calls of other
// tools, such as call_tool of package registry/toolset: [Registry.Call] goes on with the
// other tool before anything is decided, so approvers, middleware and observers see
// that one.
type relay interface {
	// Target returns the name of the tool that is to be called, and its arguments. Args
	// is a JSON object without duplicate keys. An error says what is wrong with args; it
	// becomes the Err of an [*ArgumentsError].
	Target(args json.RawMessage) (name string, inner json.RawMessage, err error)
}

// relayOf returns the relay that an entry is, if it is one. One that was added as a
// usual tool, as to another registry, calls its tool by itself.
func relayOf(e *entry) (relay, bool) {
	if !e.hidden {
		return nil, false
	}
	t, ok := e.tool.(relay)
	return t, ok
}

// resolve returns the tool that a call is for, and its arguments: a call of a relay is
// one of the tool that it names, for everybody.
func (r *Registry) resolve(ctx context.Context, name string, args json.RawMessage, o *Observation) (*entry, json.RawMessage, error) {
	e, err := r.find(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	relay, ok := relayOf(e)
	if !ok {
		return e, args, nil
	}
	called := e.def.Name
	if args, err = objectArgs(args); err == nil {
		if found := schemagate.CheckSyntax(args); found != nil {
			err = mistakesOf([]schemagate.Problem{*found})
		} else {
			name, args, err = relay.Target(args)
		}
	}
	if err != nil {
		return nil, nil, newArgumentsError(called, err)
	}
	o.Name, o.Arguments, o.Relayed = name, args, true
	if e, err = r.find(ctx, name); err != nil {
		return nil, nil, err
	}
	if _, again := relayOf(e); again {
		return nil, nil, &ArgumentsError{Tool: e.def.Name, Err: errors.New(`"name" must be the name of another tool: it cannot call itself`)}
	}
	if e.def.ReturnDirect {
		return nil, nil, &ArgumentsError{Tool: called, Err: fmt.Errorf("it cannot call %s, whose result goes to the user: call that tool by its own name", plain.Quote(e.def.Name))}
	}
	return e, args, nil
}

// check returns the arguments as they fit the tool's schema.
func (r *Registry) check(ctx context.Context, e *entry, args json.RawMessage) (json.RawMessage, error) {
	args = givenArgs(args)
	if firstByte(args) == '{' {
		fitting, err := r.arguments(ctx, e, args)
		if err == nil || json.Valid(args) {
			return fitting, err
		}
	}
	_, err := objectArgs(args) // says why not: it is no JSON, or another value
	return nil, &ArgumentsError{Tool: e.def.Name, Err: err}
}

// run passes a call through the middleware to its tool.
func (r *Registry) run(ctx context.Context, e *entry, args json.RawMessage, forward bool) (*mcp.CallToolResult, error) {
	chain := r.chain.Load()
	if len(chain.handlers) == 0 {
		return r.pass(ctx, e, args, forward)
	}
	call := &Call{Tool: e.def, Args: args, entry: e, chain: chain, forward: forward && !chain.looks}
	return call.run(ctx, 0)
}

// pass passes a call on to its tool, if that is still listed and, if it was approved, is
// what it was then. An approver or middleware may have taken hours.
func (r *Registry) pass(ctx context.Context, e *entry, args json.RawMessage, forward bool) (*mcp.CallToolResult, error) {
	s, now, err := r.seek(ctx, e.def.Name, func(s *Snapshot) *entry {
		if e.offer.placed.Load() == e { // it is in place still
			return e
		}
		return s.find(e.def.Name)
	})
	switch {
	case err != nil:
		return nil, err
	case now == e:
	case now == nil:
		return nil, r.unknown(ctx, s, e.def.Name)
	case now.change != nil:
		return nil, quarantined(now)
	case subjectOf(now) == subjectOf(e):
		e = now // by a new client perhaps
	case r.approvals.approver != nil:
		return nil, &approval.StaleError{Tool: e.def.Name}
	}
	if r.scrubber != nil && e.server != nil {
		scrubbed := r.scrubber.JSON(args)
		if !bytes.Equal(args, scrubbed) {
			redactionsOf(ctx).arguments.Store(true)
		}
		args = scrubbed
	}
	var res *mcp.CallToolResult
	if t, ok := e.tool.(*remote); ok {
		res, err = t.callWith(ctx, args, forward && r.results == nil && e.checks.output == nil)
	} else {
		res, err = e.tool.Call(jsonscan.WithChecked(ctx, nil), args) // which may write to them
	}
	if wrong, ok := err.(*ArgumentsError); ok && wrong.Tool == e.def.Origin.Tool && wrong.Tool != e.def.Name {
		renamed := *wrong // as the caller knows the tool
		renamed.Tool = e.def.Name
		err = &renamed
	}
	return res, err
}

// shape returns a result in the form that its caller gets. A result for the user, and a
// part of a kept result, stays whole.
func (r *Registry) shape(ctx context.Context, e *entry, res *mcp.CallToolResult) *mcp.CallToolResult {
	if e.def.ReturnDirect {
		return res
	}
	if !e.trusted() {
		res = result.StripHidden(res)
	}
	if e.hidden { // what it quotes of servers must not look like an enclosure
		res = r.results.Unmark(res)
	}
	if r.results == nil || isReader(e.tool) {
		return res
	}
	from := result.From{Server: e.def.Origin.Server, Tool: e.def.Origin.Tool, Trusted: e.trusted()}
	from.Redacted = func() { redactionsOf(ctx).result.Store(true) }
	return r.results.Shape(ctx, from, res)
}

// Resolve returns the definition of the tool that [Registry.Call] calls for a name: the
// listed one of that name or, if there is none, the one that it nearly is.
func (r *Registry) Resolve(name string) (*Definition, bool) {
	e := r.Snapshot().lookup(name)
	if e == nil || e.change != nil {
		return nil, false
	}
	return e.def, true
}

// Find returns the tool that [Registry.Call] calls for a name, if it is among those of
// [Registry.Callable], or hidden. The errors are those of Call for a name that is not
// listed; a tool that the policy denies to the user of ctx is as unknown as one that
// does not exist.
func (r *Registry) Find(ctx context.Context, name string) (Tool, error) {
	if err := r.made(); err != nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	e, err := r.find(ctx, name)
	if err == nil && !e.hidden && r.deniedTo(ctx)(e) != nil || as[*approval.DeniedError](err) != nil {
		return nil, r.unknown(ctx, r.Snapshot(), name)
	}
	if err != nil {
		return nil, err
	}
	return e.tool, nil
}

// find returns the listed tool that name means.
func (r *Registry) find(ctx context.Context, name string) (*entry, error) {
	s, e, err := r.seek(ctx, name, func(s *Snapshot) *entry { return s.lookup(name) })
	if err != nil {
		return nil, err
	}
	if e != nil && e.change != nil && r.ledger.Reload(ctx) == nil { // another process may have approved it
		s = r.Snapshot()
		e = s.lookup(name)
	}
	switch {
	case e == nil, e.def.appOnly && !e.listedFor(ctx) && e.change == nil, !e.openTo(ctx):
		return nil, r.unknown(ctx, s, name)
	case e.change != nil:
		// It says what changed, which is not for everybody.
		if denied := r.deniedTo(ctx)(e); denied != nil {
			return nil, denied
		}
		return nil, quarantined(e)
	}
	return e, nil
}

// Use adds middleware to all later calls of [Registry.Call]. The first that was
// added is the outermost. Each is applied once, here, and may use the registry as
// it likes; nil is skipped. Use is safe for concurrent use, and calls on their way
// keep the middleware that they began with.
func (r *Registry) Use(middleware ...Middleware) { r.use(true, middleware) }

// UseForErrors is [Registry.Use] for middleware that looks at errors, and passes results on without a
// look: the content of those of [Registry.Forward] may be missing.
func (r *Registry) UseForErrors(middleware ...Middleware) { r.use(false, middleware) }

func (r *Registry) use(looks bool, middleware []Middleware) {
	r.mustBeMade()
	first := new(int) // where these are in the chain; set before they can be called
	var handlers []Handler
	for _, m := range middleware {
		if m == nil {
			continue
		}
		at := len(handlers)
		next := func(ctx context.Context, call *Call) (*mcp.CallToolResult, error) {
			return call.run(ctx, *first+at+1)
		}
		handler := m(next)
		if handler == nil {
			handler = next
		}
		handlers = append(handlers, handler)
	}
	if handlers == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.chain.Load()
	*first = len(last.handlers)
	r.chain.Store(&chain{slices.Concat(last.handlers, handlers), last.looks || looks, r})
}

// arguments returns the arguments, a JSON object, as they are to be passed on: checked
// against the input schema and with the defaults of its properties, unless they would not fit
// then. A default is left out that is null or of a type that the property does not allow, and so
// is one of a schema farther within. Nothing that is there is changed.
//
// The error is an [*ArgumentsError], or a [*DefinitionError] if the schema cannot be used.
func (r *Registry) arguments(ctx context.Context, e *entry, args json.RawMessage) (json.RawMessage, error) {
	if !jsonscan.IsChecked(ctx, args) { // a value that two programs can read in two ways is refused
		if found := schemagate.CheckSyntax(args); found != nil {
			return nil, newArgumentsError(e.def.Name, mistakesOf([]schemagate.Problem{*found}))
		}
	}
	if e.checks.input == nil {
		return args, nil
	}
	schema, err := r.schemas.Compile(*e.checks.input, e.def.InputSchema)
	if err != nil {
		return nil, &DefinitionError{Tool: e.def.Name, Field: "InputSchema", Err: fmt.Errorf("cannot be used: %w", err)}
	}
	args, found := schema.CompleteChecked(args)
	if found != nil {
		return nil, newArgumentsError(e.def.Name, mistakesOf(found))
	}
	return args, nil
}

// verify checks a result, its structured content by the output schema. The error is a
// [*ResultError].
func (r *Registry) verify(e *entry, res *mcp.CallToolResult) error {
	fail := func(err error) error { return &ResultError{Tool: e.def.Name, Result: res, Err: err} }
	switch {
	case res == nil:
		return fail(errNoResult)
	case res.IsError || e.checks.output == nil:
		return nil
	case res.StructuredContent == nil:
		return fail(errors.New("structuredContent is missing, but there is an output schema"))
	}
	content, ok := res.StructuredContent.(json.RawMessage)
	if !ok {
		var err error
		if content, err = json.Marshal(res.StructuredContent); err != nil {
			return fail(fmt.Errorf("structuredContent: %w", err))
		}
	}
	schema, err := r.schemas.Compile(*e.checks.output, e.def.OutputSchema)
	if err != nil {
		return fail(fmt.Errorf("structuredContent cannot be checked: the output schema cannot be used: %w", err))
	}
	if found := schema.Problems(content); found != nil {
		m := mistakesOf(found)
		return &ResultError{Tool: e.def.Name, Result: res, Problems: m.problems, Err: fmt.Errorf("structuredContent does not match the output schema: %w", m)}
	}
	return nil
}
