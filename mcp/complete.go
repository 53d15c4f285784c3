package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	methodComplete = "completion/complete"
	// revision20250326 brought the capability. Servers before that may know
	// the request without saying so.
	revision20250326 = "2025-03-26"
)

// Complete asks the server to complete an argument of a prompt or a variable of a
// resource template. To ask while the user types, use a [Completer]. The Meta of params
// is sent if the options have none.
//
// An answer holds at most 100 values, as the protocol has it; more are cut off,
// and HasMore is set then. The error is [errors.ErrUnsupported] if the server
// does not complete, and otherwise as for [Client.CallTool].
func (c *Client) Complete(ctx context.Context, params *CompleteParams, opts *RequestOptions) (*CompleteResult, error) {
	ask, err := c.complete(ctx, params, opts)
	if err != nil {
		return nil, err
	}
	return ask.result, nil
}

func (c *Client) complete(ctx context.Context, params *CompleteParams, opts *RequestOptions) (*completion, error) {
	if err := c.enter(); err != nil {
		return nil, c.explain(&request{method: methodComplete}, err)
	}
	defer c.leave()
	ask := &completion{}
	if err := ask.prepare(c, params, opts); err != nil {
		return nil, c.explain(&ask.request, WithOutcome(err, NotSent))
	}
	l, err := c.acquire(ctx, nil)
	if err != nil {
		return nil, c.explain(&ask.request, err)
	}
	if caps := l.info.capabilities; l.info.revision >= revision20250326 && (caps == nil || caps.Completions == nil) {
		return nil, c.explain(&ask.request, WithOutcome(fmt.Errorf("the server does not complete: %w", errors.ErrUnsupported), NotSent))
	}
	if err := ask.run(ctx, ask); err != nil {
		return nil, err
	}
	return ask, nil
}

// A completion is one Complete.
type completion struct {
	exchange
	result *CompleteResult
	bytes  int // of the answer
}

func (a *completion) prepare(c *Client, params *CompleteParams, opts *RequestOptions) error {
	a.request.method = methodComplete
	ref, argument, others, err := encodeCompletion(params)
	if err != nil {
		return err
	}
	a.begin(c, methodComplete, opts, member{"ref", ref}, member{"argument", argument})
	a.request.more = []member{{"context", others}}
	if a.request.meta == nil {
		a.request.meta = params.Meta
	}
	return nil
}

// decode implements answer.
func (a *completion) decode(raw json.RawMessage, _ *life) (need *inputRequired, err error) {
	a.bytes = len(raw)
	a.result, err = decodeCompletion(raw)
	return nil, err
}

// encodeCompletion writes what is to be completed.
func encodeCompletion(params *CompleteParams) (ref, argument, others json.RawMessage, err error) {
	if params == nil || params.Ref == nil {
		return nil, nil, nil, errors.New("no reference to a prompt or a resource template")
	}
	quote := func(text string) json.RawMessage { return appendQuoted(nil, text) }
	switch r := params.Ref; {
	case r.Type == "ref/prompt" && r.Name != "" && r.URI == "":
		ref = object(member{"type", quote(r.Type)}, member{"name", quote(r.Name)})
	case r.Type == "ref/resource" && r.URI != "" && r.Name == "":
		ref = object(member{"type", quote(r.Type)}, member{"uri", quote(r.URI)})
	default:
		return nil, nil, nil, fmt.Errorf("the reference of type %q needs a name if it is ref/prompt and a URI if it is ref/resource", r.Type)
	}
	if params.Argument.Name == "" {
		return nil, nil, nil, errors.New("no name of an argument")
	}
	argument = object(member{"name", quote(params.Argument.Name)}, member{"value", quote(params.Argument.Value)})
	if params.Context != nil && len(params.Context.Arguments) > 0 {
		arguments, _ := json.Marshal(params.Context.Arguments) // strings always encode, with sorted keys
		others = object(member{"arguments", arguments})
	}
	return ref, argument, others, nil
}

const (
	defaultCompleteDelay = 150 * time.Millisecond
	// maxKeptCompletions bounds the answers that a Completer keeps.
	maxKeptCompletions = 256
	// maxKeptBytes bounds each of them, with its question.
	maxKeptBytes = 16 << 10
)

// ErrSuperseded is returned by [Completer.Complete] when a newer call has taken
// the place of this one.
var ErrSuperseded = errors.New("mcp: superseded by a newer completion")

// CompleterOptions configure a [Completer]. Nil means the defaults.
type CompleterOptions struct {
	// Delay is how long the user must have stopped typing before the server is
	// asked. Default: 150 ms. Negative: none.
	Delay time.Duration
	// RequestOptions are those of each request. Nil means the defaults. With
	// Fresh set no answers are kept.
	RequestOptions *RequestOptions
}

// A Completer completes the text that a user types in one field. Only the newest text
// counts: a call ends the one before it, which returns [ErrSuperseded], and the server
// does not see the texts between. Answers of no more than 16 KiB are kept for as long
// as the Completer is held, the last 256 of them.
//
// A Completer is safe for concurrent use and owns no goroutine.
type Completer struct {
	client *Client
	opts   CompleterOptions

	mu      sync.Mutex          // guards the following
	current *context.CancelFunc // of the last call, until it ends
	answers map[string]*CompleteResult
	order   []string // the keys of answers, the oldest first
}

// NewCompleter returns a completer that asks the client's server.
func (c *Client) NewCompleter(opts *CompleterOptions) *Completer {
	var o CompleterOptions
	if opts != nil {
		o = *opts
	}
	if o.Delay == 0 {
		o.Delay = defaultCompleteDelay
	}
	return &Completer{client: c, opts: o, answers: make(map[string]*CompleteResult)}
}

// Complete waits until the user has stopped typing, and returns what
// [Client.Complete] does. It returns [ErrSuperseded] as soon as there is a newer
// call; the request of this one, if it was sent, is cancelled. An answer that is
// kept is returned at once.
func (t *Completer) Complete(ctx context.Context, params *CompleteParams) (*CompleteResult, error) {
	c := t.client
	ref, argument, others, err := encodeCompletion(params)
	if err != nil {
		return nil, c.explain(&request{method: methodComplete}, WithOutcome(err, NotSent))
	}
	key := string(object(member{"ref", ref}, member{"argument", argument}, member{"context", others}))
	own, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.closing, stop)()
	kept := t.supersede(&stop, key)
	defer t.finish(&stop)
	if kept != nil {
		return kept, nil
	}
	if t.opts.Delay > 0 && sleep(own, t.opts.Delay) != nil {
		err := ctx.Err()
		if c.closing.Err() != nil {
			err = ErrClosed
		}
		if err == nil {
			return nil, t.superseded(NotSent)
		}
		return nil, c.explain(&request{method: methodComplete}, WithOutcome(err, NotSent))
	}
	ask, err := c.complete(own, params, t.opts.RequestOptions)
	if err == nil {
		t.keep(key, ask)
	}
	if ctx.Err() == nil && c.closing.Err() == nil && own.Err() != nil {
		return nil, t.superseded(OutcomeOf(err)) // an answer that comes too late would hide a newer one
	}
	if err != nil {
		return nil, err
	}
	return ask.result, nil
}

func (t *Completer) superseded(o Outcome) error {
	return WithOutcome(fmt.Errorf("mcp: server %q: %s: %w", t.client.name, methodComplete, ErrSuperseded), o)
}

// supersede makes a call the current one, ending the one before it, and returns
// the answer if it is kept.
func (t *Completer) supersede(stop *context.CancelFunc, key string) *CompleteResult {
	t.mu.Lock()
	before := t.current
	t.current = stop
	kept := t.answers[key]
	t.mu.Unlock()
	if before != nil {
		(*before)()
	}
	return copyCompletion(kept)
}

func (t *Completer) finish(stop *context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == stop {
		t.current = nil
	}
}

func (t *Completer) keep(key string, ask *completion) {
	if ask.bytes+len(key) > maxKeptBytes || t.opts.RequestOptions != nil && t.opts.RequestOptions.Fresh {
		return
	}
	res := copyCompletion(ask.result)
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.answers[key]; !known {
		if len(t.order) == maxKeptCompletions {
			delete(t.answers, t.order[0])
			t.order = slices.Delete(t.order, 0, 1)
		}
		t.order = append(t.order, key)
	}
	t.answers[key] = res
}

// copyCompletion returns a copy whose values a caller may change.
func copyCompletion(res *CompleteResult) *CompleteResult {
	if res == nil {
		return nil
	}
	own := *res
	own.Completion.Values = slices.Clone(res.Completion.Values)
	own.Meta = maps.Clone(res.Meta)
	return &own
}
