package genkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/firebase/genkit/go/ai"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// An Interrupt says what a call waits for. Its JSON is the metadata of Genkit's
// interrupt, so that it outlives the program with the conversation.
type Interrupt struct {
	// Part is the request of the call, as it stands in the response of the model.
	Part *ai.Part `json:"-"`
	profile.Wait
}

// Interrupts returns what the calls of a response wait for, in their order. Those
// of the program's own tools are not among them.
func Interrupts(resp *ai.ModelResponse) []Interrupt {
	var all []Interrupt
	for _, part := range resp.Interrupts() {
		if i, ok := interruptFrom(part); ok {
			all = append(all, i)
		}
	}
	return all
}

// interruptFrom reads the metadata of an interrupted part.
func interruptFrom(part *ai.Part) (Interrupt, bool) {
	i, ok := ai.InterruptAs[Interrupt](part)
	i.Part = part
	return i, ok && (i.Login || i.Approval != "")
}

// Responses waits until all that a response waits for has been answered, and returns
// what [ai.WithToolResponses] takes to go on. Approvals are answered by
// [registry.Registry.Approve] or [registry.Registry.Deny]. A call that waited for a login is made when
// the user has logged in, and may then wait for an approval. The Turn may be another
// one than that of the response, also in another process as long as the registry knows
// the approvals.
//
// Interrupts of the program's own tools are left to the program. If ctx ends, Responses
// returns its error, and the parts that there are by then: give them to the next
// Responses for this response, which would make calls again otherwise that were made
// after a login.
func (t *Turn) Responses(ctx context.Context, resp *ai.ModelResponse, answered ...*ai.Part) ([]*ai.Part, error) {
	waits := Interrupts(resp)
	parts := make([]*ai.Part, len(waits))
	var open []int // the places of those that are not answered
	var answers []profile.Answer
	for n, i := range waits {
		if parts[n] = answerTo(i.Part.ToolRequest, answered); parts[n] != nil {
			continue
		}
		input, err := json.Marshal(i.Part.ToolRequest.Input)
		if err != nil {
			return nil, fmt.Errorf("genkit: the input of the tool %q is no JSON: %w", i.Part.ToolRequest.Name, err)
		}
		open = append(open, n)
		answers = append(answers, waiting((&tool{name: i.Part.ToolRequest.Name}).call(input), i))
	}
	answers, err := t.Wait(ctx, &profile.WaitingError{Answers: answers})
	for k, n := range open {
		if err == nil || mcp.OutcomeOf(answers[k].Err) != mcp.NotSent {
			parts[n] = t.responsePart(waits[n].Part, answers[k])
		}
	}
	parts = slices.DeleteFunc(parts, func(p *ai.Part) bool { return p == nil })
	if len(parts) == 0 {
		parts = nil
	}
	return parts, err
}

// answerTo returns the part among others that answers a request; nil: none.
func answerTo(request *ai.ToolRequest, answered []*ai.Part) *ai.Part {
	for _, p := range answered {
		if p.IsToolResponse() && p.ToolResponse.Name == request.Name && p.ToolResponse.Ref == request.Ref {
			return p
		}
	}
	return nil
}

// responsePart returns the answer to an interrupted call as Genkit's part.
func (t *Turn) responsePart(interrupted *ai.Part, answer profile.Answer) *ai.Part {
	res := t.response(answer, true)
	part := ai.NewResponseForToolRequest(interrupted, res.Output)
	part.ToolResponse.Content = res.Content
	part.Metadata = map[string]any{"interruptResponse": true}
	return part
}

// waiting returns the answer to a call that an interrupt says of what it waits for.
func waiting(call profile.Call, i Interrupt) profile.Answer {
	answer := profile.Answer{Call: call, Err: &loginWantedError{i.Tool, i.LoginURL}}
	if i.Approval != "" {
		answer.Err = &registry.ApprovalRequiredError{Request: &registry.ApprovalRequest{ID: i.Approval, Tool: &registry.Definition{Name: i.Tool}}}
	}
	return answer
}

// A loginWantedError reports a call that waited for a login when it was interrupted.
type loginWantedError struct{ tool, url string }

func (e *loginWantedError) Error() string {
	return fmt.Sprintf("genkit: the tool %q needs the user to log in first", e.tool)
}

// LoginURL returns where to log in.
func (e *loginWantedError) LoginURL() string { return e.url }

// Outcome returns [mcp.NotSent].
func (e *loginWantedError) Outcome() mcp.Outcome { return mcp.NotSent }

// errRestart is a mistake of the program: to make the call again could make it twice.
var errRestart = errors.New("genkit: a call that was interrupted cannot be restarted; go on by Responses")
