package profile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A Call is a call that a model wrote.
type Call struct {
	// ID is the provider's; empty if it has none.
	ID string
	// Name is the tool's, as the model wrote it.
	Name string
	// Arguments are what the model wrote, hopefully a JSON object. Empty means {}.
	Arguments json.RawMessage
	// Caller says who calls, as JSON of the provider that wants it back with the
	// result, such as a program that the model wrote; nil if there is nothing to
	// send back.
	Caller json.RawMessage
	// Incomplete says that the model did not come to the end of the call, such as at
	// its limit of tokens. It is not made then, whatever there is of its arguments, and
	// the model is told so.
	Incomplete bool

	newID bool // the ID is not the one that the model wrote
}

// An Answer is what became of a [Call].
type Answer struct {
	// Call is what was called.
	Call Call
	// Result is what the model is told, never nil: the tool's result, or what
	// [registry.ErrorResult] makes of Err, or [result.Withheld].
	Result *mcp.CallToolResult
	// Direct is the tool's result if it is for the user, see
	// [registry.Definition].ReturnDirect; otherwise nil. The model gets it, too, unless
	// [TurnOptions].Direct has given it to the user.
	Direct *mcp.CallToolResult
	// Err is why there is no result of the tool, for people and programs: the error
	// of [registry.Registry.Call].
	Err error
}

// Approval returns what a person has to approve before the call is made; nil if the
// call does not wait for that.
func (a *Answer) Approval() *registry.ApprovalRequest {
	if asks, ok := errors.AsType[*registry.ApprovalRequiredError](a.Err); ok {
		return asks.Request
	}
	return nil
}

// Login returns the address where the user has to log in before the call can be
// made, which is empty if it is not known, and whether they have to.
func (a *Answer) Login() (url string, needed bool) {
	var login interface{ LoginURL() string }
	if mcp.OutcomeOf(a.Err) != mcp.NotSent || !errors.As(a.Err, &login) {
		return "", false
	}
	return login.LoginURL(), true
}

// Waits reports whether the call waits for a person: for an approval or a login. It
// was not made then.
func (a *Answer) Waits() bool {
	_, login := a.Login()
	return login || a.Approval() != nil
}

// A Wait says what a call waits for, as JSON that outlives the program.
type Wait struct {
	// Tool is the name of the tool in the registry, or what the model called it if there is none.
	Tool string `json:"tool"`
	// Arguments are those that the tool would get, a JSON object unless the model made a mistake.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Approval is the id of a call that a person has to approve, by
	// [registry.Registry.Approve], or to deny. Empty: it waits for a login.
	Approval string `json:"approval,omitempty"`
	// Reason is why a person has to be asked; empty for a login.
	Reason string `json:"reason,omitempty"`
	// Expires is until when the approval can be given; zero for a login.
	Expires time.Time `json:"expires,omitzero"`
	// Login says that the user has to log in.
	Login bool `json:"login,omitempty"`
	// LoginURL is where to log in; empty if it is not known.
	LoginURL string `json:"loginUrl,omitempty"`
}

// WaitOf returns what the call of an answer waits for; the zero Wait for nil.
func WaitOf(a *Answer) Wait {
	if a == nil {
		return Wait{}
	}
	w := Wait{Tool: a.Call.Name}
	if json.Valid(a.Call.Arguments) {
		w.Arguments = a.Call.Arguments
	}
	if asks := a.Approval(); asks != nil {
		w.Approval, w.Reason, w.Expires = asks.ID, asks.Reason, asks.Expires
		w.Tool, w.Arguments = asks.Tool.Name, asks.Args
		return w
	}
	w.LoginURL, w.Login = a.Login()
	return w
}

// A WaitingError reports that calls of a message wait for a person. [Turn.Wait] waits
// for them.
//
//cure:let a person decide, and call Wait of the turn
type WaitingError struct {
	// Answers are those to all calls of the message, in their order. The results of
	// those that wait tell the model so, for agents that do not want to wait.
	Answers []Answer
}

// Waiting returns the answers to the calls that wait, in their order: what there is
// to show to people.
func (e *WaitingError) Waiting() []Answer {
	return slices.DeleteFunc(slices.Clone(e.Answers), func(a Answer) bool { return !a.Waits() })
}

func (e *WaitingError) Error() string {
	waiting := e.Waiting()
	if len(waiting) == 0 {
		return "profile: no call waits"
	}
	return fmt.Sprintf("profile: %d of %d calls wait for a person; the first: %v", len(waiting), len(e.Answers), waiting[0].Err)
}

// Unwrap returns why each of them waits.
func (e *WaitingError) Unwrap() []error {
	var errs []error
	for _, a := range e.Waiting() {
		errs = append(errs, a.Err)
	}
	return errs
}

// Call makes one call, see [Set.Call], unless ctx has ended. If c.ID is not empty
// the call has it, as by [registry.WithCallID]. Every failure is told in the answer.
// Observers are told what of the call cannot go back as it is, see
// [registry.Observation].Mended.
func (t *Turn) Call(ctx context.Context, c Call) Answer {
	if ctx.Err() != nil {
		return t.Answer(ctx, c, nil, mcp.WithOutcome(context.Cause(ctx), mcp.NotSent))
	}
	if c.Incomplete {
		return t.Answer(ctx, c, nil, &registry.ArgumentsError{Tool: c.Name, Err: errIncomplete})
	}
	call := onbehalf.CallOf(ctx)
	if c.ID != "" {
		call = onbehalf.Call{ID: c.ID, Parent: call.ID}
	}
	call.Mended = t.mended(c)
	under := onbehalf.WithCall(ctx, call)
	if t.progress != nil {
		under = registry.WithProgress(under, func(p *mcp.ProgressParams) { t.progress(c, p) })
	}
	res, err := t.set.Call(under, t.registry, c.Name, c.Arguments)
	return t.Answer(ctx, c, res, err)
}

// mended returns what of a call goes back in another form, see [Repairer].
func (t *Turn) mended(c Call) []string {
	var parts []string
	if c.newID {
		parts = append(parts, "id")
	}
	if d, ok := rulesOf(t.set.provider); ok && d.nameBack(c.Name) != c.Name {
		parts = append(parts, "name")
	}
	if len(c.Arguments) > 0 && object(c.Arguments) != string(c.Arguments) {
		parts = append(parts, "arguments")
	}
	return parts
}

var errIncomplete = errors.New("the call was cut off before it was complete, and was not made; write it again, shorter if it was long")

// Answer returns the answer to a call whose result or error the caller has got by
// other ways than [Turn.Call], such as [registry.Registry.Await]. A result for the user
// goes to [TurnOptions].Direct.
func (t *Turn) Answer(ctx context.Context, c Call, res *mcp.CallToolResult, err error) Answer {
	res = cmp.Or(res, new(mcp.CallToolResult))
	a := Answer{Call: c, Result: res, Err: err}
	if err != nil {
		a.Result = registry.ErrorResult(err)
		return a
	}
	if def, ok := t.set.resolve(t.registry, c.Name); !ok || !def.ReturnDirect || res.IsError {
		return a
	}
	a.Direct = res
	if t.direct != nil {
		a.Result = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: result.Withheld}}}
		t.direct(ctx, a)
	}
	return a
}

// Run makes the calls of one message of a model at the same time, see
// [TurnOptions].MaxParallel, and returns an answer to each, in their order, when all
// are over. It ends soon after ctx does, with its error; what the tools did by then the
// answers tell. If calls wait for a person, the error is a [*WaitingError], and the
// answers are there: a message is not answered in part. No calls have no answers, and
// no error.
func (t *Turn) Run(ctx context.Context, calls []Call) ([]Answer, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	answers := make([]Answer, len(calls))
	var (
		wg       sync.WaitGroup
		once     sync.Once
		panicked any
	)
	places := make(chan struct{}, max(t.parallel, 1)) // of the zero Turn
	for i, c := range calls {
		places <- struct{}{}
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					once.Do(func() { panicked = v })
				}
				<-places
			}()
			answers[i] = t.Call(ctx, c)
		})
	}
	wg.Wait()
	if panicked != nil {
		panic(panicked) // of middleware or an approver: the caller's, as if it had called
	}
	switch {
	case ctx.Err() != nil:
		return answers, context.Cause(ctx)
	case slices.ContainsFunc(answers, func(a Answer) bool { return a.Waits() }):
		return nil, &WaitingError{answers}
	}
	return answers, nil
}

// Wait waits until none of the calls waits for a person any more, and returns the
// answers to all calls of the message, in their order. Approvals are
// answered by [registry.Registry.Approve] or [registry.Registry.Deny]. A call that waited for a login is
// made when the user has logged in, and may then wait for an approval; if it is not
// told when they have, or they have to log in again and again, its answer is that of the last try.
// Logins come after approvals, whose outcomes the registry does not keep for ever.
//
// If ctx ends, Wait returns its error with the answers that there are by then. Go on
// with these, in a WaitingError of their own: calls that were made after a login would
// be made again for the old one.
func (t *Turn) Wait(ctx context.Context, e *WaitingError) ([]Answer, error) {
	if e == nil {
		return nil, errors.New("profile: Wait: there is no WaitingError")
	}
	answers := slices.Clone(e.Answers)
	tries := make([]int, len(answers))
	for {
		i := nextToSettle(answers, tries)
		if i < 0 {
			return answers, nil
		}
		tries[i]++
		if err := t.settle(ctx, &answers[i]); err != nil {
			return answers, err
		}
	}
}

// mostTries is how often one call is made after a login or an approval.
const mostTries = 8

// nextToSettle returns the first answer that waits for an approval or, if none does,
// for a login; -1 if none waits that has not had its tries.
func nextToSettle(answers []Answer, tries []int) int {
	login := -1
	for i := range answers {
		switch a := &answers[i]; {
		case tries[i] == mostTries || !a.Waits():
		case a.Approval() != nil:
			return i
		case login < 0:
			login = i
		}
	}
	return login
}

// settle waits for the person that a call waits for, and has the call made. The
// error is that of ctx.
func (t *Turn) settle(ctx context.Context, a *Answer) error {
	if request := a.Approval(); request != nil {
		res, err := t.registry.Await(ctx, request.ID)
		if err == nil || ctx.Err() == nil {
			*a = t.Answer(ctx, a.Call, res, err)
		}
		return context.Cause(ctx)
	}
	var tells interface{ LoggedIn() <-chan struct{} }
	if errors.As(a.Err, &tells) && tells.LoggedIn() != nil {
		select {
		case <-tells.LoggedIn():
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // the call still waits, for a Wait that goes on
	}
	*a = t.Call(ctx, a.Call)
	return context.Cause(ctx)
}
