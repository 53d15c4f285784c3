package anthropic

import (
	"errors"
	"slices"

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
	f := beta()
	messages := runner.Messages()
	last := len(messages) - 1
	for last >= 0 && f.role(messages[last]) != assistant {
		last--
	}
	if last < 0 {
		return messages
	}
	content := f.finished(f.sendable(f.content(messages[last])))
	if len(content) == 0 {
		return slices.Delete(messages, last, last+1) // the API takes it at the end only
	}
	messages[last] = f.with(messages[last], content)
	var results []sdk.BetaContentBlockParamUnion
	for _, m := range messages[last+1:] {
		results = append(results, f.content(m)...)
	}
	var missing []profile.Answer
	for _, call := range f.unanswered(content, results) {
		missing = append(missing, t.answer(call, runner, params))
	}
	if missing == nil {
		return messages
	}
	return f.behind(messages, last+1, t.turn.BetaResults(missing...)[0])
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

// behind puts results at a place of a conversation, where others of the same message may
// stand already.
func (f *form[M, B]) behind(messages []M, at int, results M) []M {
	if at == len(messages) || f.role(messages[at]) != user {
		return slices.Insert(messages, at, results)
	}
	there := f.content(messages[at])
	n := slices.IndexFunc(there, func(b B) bool { return !f.look(b).result })
	if n < 0 {
		n = len(there)
	}
	messages[at] = f.with(messages[at], slices.Concat(there[:n], f.content(results), there[n:]))
	return messages
}
