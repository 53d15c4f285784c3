package anthropic

import (
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// errNotRun is why there is no result of a call in a message that the runner stops with.
var errNotRun = errors.New("anthropic: the runner had come to its end, and did not make the call")

// Messages returns the conversation of a runner so far, for another runner that goes on
// with it, behind which the next message of the user can stand. The runner may have come
// to its end, or Prepare or NextMessage has failed, such as by the end of ctx. The results
// of the last calls are there once, whether the runner has sent them or not. Calls that
// wait, that the runner did not come to, or whose outcome is not known, see
// [profile.Lost], have a result that says so. Content that the API refuses with a message
// behind it is left out: an answer without content, and searches and other calls of its
// own amid which it has paused. A runner on a message thread leaves out an answer that is
// a refusal.
//
// The runner stays as it is. Changes of the slice do not change it.
func (t *RunnerTools) Messages(runner *sdk.BetaToolRunner) []sdk.BetaMessageParam {
	return t.messages(runner, &runner.Params)
}

// MessagesStreaming is [RunnerTools.Messages] of a runner that streams.
func (t *RunnerTools) MessagesStreaming(runner *sdk.BetaToolRunnerStreaming) []sdk.BetaMessageParam {
	return t.messages(runner, &runner.Params)
}

func (t *RunnerTools) messages(runner toolRunner, params *sdk.BetaToolRunnerParams) []sdk.BetaMessageParam {
	return beta().repaired(runner.Messages(), func(c profile.Call) sdk.BetaContentBlockParamUnion {
		results := t.turn.BetaResults(t.answer(c, runner, params))
		return beta().content(results[0])[0]
	})
}

// answer returns what there is to say of a call whose result the runner has not sent.
func (t *RunnerTools) answer(call profile.Call, runner toolRunner, params *sdk.BetaToolRunnerParams) profile.Answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.answered {
		if a.answer.Call.ID == call.ID {
			return a.answer
		}
	}
	message := runner.LastMessage()
	if message != nil && (message.StopReason != sdk.BetaStopReasonToolUse || atLimit(runner, params)) {
		err := mcp.WithOutcome(errNotRun, mcp.NotSent)
		return profile.Answer{Call: call, Err: err, Result: registry.ErrorResult(err)}
	}
	return profile.Lost(call)
}

// atLimit reports whether the runner makes no more requests, nor the calls for them.
func atLimit(runner toolRunner, params *sdk.BetaToolRunnerParams) bool {
	return params.MaxIterations > 0 && runner.IterationCount() >= params.MaxIterations
}
