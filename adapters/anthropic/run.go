package anthropic

import (
	"context"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Run makes the calls of a message of the model, see [profile.Turn.Run], and returns
// the message of the user that goes into the next request behind it: the results of
// all calls, in their order. If a call waits for a person, there is none yet: the
// error is a [*profile.WaitingError] then. If ctx ends, Run returns its error, and the
// message all the same, so that the conversation can go on.
//
// The message may be that of a stream, accumulated. If it was cut off, such as by
// MaxTokens, the call that it ends with is not made, and the model is told so. Run does
// nothing for a message that the API has paused, nor for one that it ended by a refusal.
//
// Tools that the API runs itself are left alone. So are toolsets such as the
// computer's: the program adds their results to the message.
func (t *Turn) Run(ctx context.Context, message *sdk.Message) ([]sdk.MessageParam, error) {
	answers, err := t.Turn.Run(ctx, t.Calls(message))
	return t.Results(answers...), err
}

// RunBeta is [Turn.Run] for the beta of the API.
func (t *Turn) RunBeta(ctx context.Context, message *sdk.BetaMessage) ([]sdk.BetaMessageParam, error) {
	answers, err := t.Turn.Run(ctx, t.BetaCalls(message))
	return t.BetaResults(answers...), err
}

// Calls returns the calls of a message that the program has to answer, in their order.
// A program with functions of its own beside those of the registry takes its calls out,
// gives the others to [profile.Turn.Run], and all answers to [Turn.Results].
func (t *Turn) Calls(message *sdk.Message) []profile.Call {
	if message == nil {
		return nil
	}
	var calls []profile.Call
	for i, b := range message.Content {
		if b.Type == "tool_use" && b.ToolsetName == "" {
			calls = append(calls, profile.Call{
				ID: b.ID, Name: b.Name, Arguments: b.Input,
				Incomplete: cutOff(string(message.StopReason), i == len(message.Content)-1),
			})
		}
	}
	if over(string(message.StopReason)) {
		return nil
	}
	return profile.Anthropic.WithIDs(calls)
}

// BetaCalls is [Turn.Calls] for the beta of the API. Calls of a model that another one
// has taken over from are not among them.
func (t *Turn) BetaCalls(message *sdk.BetaMessage) []profile.Call {
	return profile.Anthropic.WithIDs(betaCalls(message))
}

// betaCalls returns the calls with the ids that the model wrote.
func betaCalls(message *sdk.BetaMessage) []profile.Call {
	if message == nil {
		return nil
	}
	var calls []profile.Call
	for i, b := range message.Content {
		switch {
		case b.Type == "fallback":
			calls = nil
		case b.Type == "tool_use" && b.ToolsetName == "":
			calls = append(calls, profile.Call{
				ID: b.ID, Name: b.Name, Arguments: b.Input,
				Incomplete: cutOff(string(message.StopReason), i == len(message.Content)-1),
			})
		}
	}
	if over(string(message.StopReason)) {
		return nil
	}
	return calls
}

// over reports whether the calls of a message are not answered: the API goes on with
// it, or has ended the conversation.
func over(stop string) bool {
	return stop == "pause_turn" || stop == "compaction" || stop == "refusal"
}

// cutOff reports whether a call may lack arguments. A message without a stop reason is
// that of a stream which broke off: nothing of it is sure.
func cutOff(stop string, last bool) bool {
	switch stop {
	case "tool_use", "end_turn", "stop_sequence":
		return false
	case "max_tokens", "model_context_window_exceeded":
		return last
	default:
		return true
	}
}
