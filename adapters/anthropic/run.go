package anthropic

import (
	"context"
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Run makes the calls of a message of the model, see [profile.Turn.Run], and returns
// the message of the user that goes into the next request behind it: the results of
// all calls, in their order. If a call waits for a person, there is none yet: the
// error is a [*profile.WaitingError] then. If ctx ends, Run returns its error, and the
// message all the same, so that the conversation can go on.
//
// The message may be that of a stream, accumulated. If it was cut off, no call is
// made, as the last one may lack arguments: the error is a [*CutOffError], and the
// message tells the model. Run does nothing for a message that the API paused, nor for
// one that it ended by a refusal. Tools that the API runs itself are left alone, and
// so are toolsets such as the computer's; the program adds the results of the latter
// to the message.
func (t *Turn) Run(ctx context.Context, message *sdk.Message) ([]sdk.MessageParam, error) {
	answers, err := t.run(ctx, string(message.StopReason), calls(message.Content))
	return t.Results(answers...), err
}

// RunBeta is [Turn.Run] for the beta of the API.
func (t *Turn) RunBeta(ctx context.Context, message *sdk.BetaMessage) ([]sdk.BetaMessageParam, error) {
	answers, err := t.run(ctx, string(message.StopReason), betaCalls(message.Content))
	return t.BetaResults(answers...), err
}

// run returns the answers that go into the next request.
func (t *Turn) run(ctx context.Context, stop string, calls []profile.Call) ([]profile.Answer, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	switch stop {
	case "tool_use", "end_turn", "stop_sequence":
	case "pause_turn", "compaction", "refusal":
		return nil, nil
	default:
		err := &CutOffError{StopReason: stop}
		var answers []profile.Answer
		for _, c := range calls {
			answers = append(answers, profile.Answer{Call: c, Err: err, Result: &mcp.CallToolResult{
				IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.forModel()}},
			}})
		}
		return answers, err
	}
	answers, err := t.Turn.Run(ctx, calls)
	var waiting *profile.WaitingError
	if errors.As(err, &waiting) {
		return nil, err
	}
	return answers, err
}

// A CutOffError reports that the model's message ended before it was complete, so that
// its calls were not made.
type CutOffError struct {
	// StopReason is that of the message, such as max_tokens; empty if the message has
	// none, as that of a stream which broke off.
	StopReason string
}

func (e *CutOffError) reason() string {
	if e.StopReason == "" {
		return "no stop reason"
	}
	return e.StopReason
}

func (e *CutOffError) Error() string {
	return "anthropic: the message of the model was cut off (" + e.reason() + "), so its calls were not made; allow it more tokens, or ask it to go on"
}

func (e *CutOffError) forModel() string {
	return "This call was not made, because your message was cut off (" + e.reason() + "). Call the tool again, in a shorter message."
}

// Outcome returns [mcp.NotSent].
func (e *CutOffError) Outcome() mcp.Outcome { return mcp.NotSent }

// calls returns the calls that the program has to answer.
func calls(content []sdk.ContentBlockUnion) []profile.Call {
	var calls []profile.Call
	for _, b := range content {
		if b.Type == "tool_use" && b.ToolsetName == "" {
			calls = append(calls, profile.Call{ID: b.ID, Name: b.Name, Arguments: b.Input})
		}
	}
	return calls
}

// betaCalls returns the calls that the program has to answer: none of a model that
// another one has taken over from.
func betaCalls(content []sdk.BetaContentBlockUnion) []profile.Call {
	var calls []profile.Call
	for _, b := range content {
		switch {
		case b.Type == "fallback":
			calls = nil
		case b.Type == "tool_use" && b.ToolsetName == "":
			calls = append(calls, profile.Call{ID: b.ID, Name: b.Name, Arguments: b.Input})
		}
	}
	return calls
}
