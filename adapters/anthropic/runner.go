package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// RunnerTools are the tools of one tool runner of the SDK. They work without
// [RunnerTools.Prepare] too: calls that wait for a person are told to the model then,
// which goes on without them, and MaxParallel has no effect.
//
// The runner may run them at the same time. Prepare is, like the runner, not safe for
// concurrent use.
type RunnerTools struct {
	turn     *Turn
	declared bool // Params.Tools has the whole declarations

	mu       sync.Mutex       // guards the following, as the runner runs tools at the same time
	message  *sdk.BetaMessage // whose calls are answered
	answered []answered
}

// answered is the answer to a call that the runner is about to run.
type answered struct {
	answer profile.Answer
	input  string // as the runner gives it to the tool
	taken  bool
}

// NewRunnerTools returns the tools of a registry that the user of ctx may call, for
// one runner. Make them anew for each.
func NewRunnerTools(ctx context.Context, r *registry.Registry, opts *Options) (*RunnerTools, error) {
	turn, err := Tools(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	return &RunnerTools{turn: turn}, nil
}

// List returns the tools for the SDK's NewToolRunner or NewToolRunnerStreaming.
func (t *RunnerTools) List() []sdk.BetaTool {
	var list []sdk.BetaTool
	for _, tool := range t.turn.Set().Tools() {
		list = append(list, &runnerTool{tools: t, tool: tool})
	}
	return list
}

// Prepare makes the calls of the runner's last message, so that NextMessage finds
// their results; call it before each NextMessage. If a call waits for a person, the
// error is a [*profile.WaitingError]: show a person what waits, and call Prepare again,
// which waits for them. If ctx ends, the error is that of ctx; Prepare and NextMessage
// go on where they were, with the calls as they ended. A program that goes on with
// another message of the user has the conversation from [RunnerTools.Messages]. When the
// runner is at its MaxIterations, the calls are not made, as the runner does not make
// them either.
//
// No call is made twice if NextMessage fails and is tried again.
//
// The tools are those of the beginning. Their whole declarations, such as that one is
// deferred, go with the runner's first request, and Prepare has to come before it.
func (t *RunnerTools) Prepare(ctx context.Context, runner *sdk.BetaToolRunner) error {
	return t.prepare(ctx, runner, &runner.Params)
}

// PrepareStreaming is [RunnerTools.Prepare] before each NextStreaming.
func (t *RunnerTools) PrepareStreaming(ctx context.Context, runner *sdk.BetaToolRunnerStreaming) error {
	return t.prepare(ctx, runner, &runner.Params)
}

// toolRunner is what both runners have.
type toolRunner interface {
	LastMessage() *sdk.BetaMessage
	Messages() []sdk.BetaMessageParam
	IterationCount() int
}

func (t *RunnerTools) prepare(ctx context.Context, runner toolRunner, params *sdk.BetaToolRunnerParams) error {
	if !t.declared && runner.LastMessage() == nil { // a thread keeps the tools of its first request
		declare(params, t.turn.BetaParams(params.Messages...))
		t.declared = true
	}
	if atLimit(runner, params) {
		return nil
	}
	putRight(params, runner.LastMessage())
	return t.answerCalls(ctx, runner.LastMessage(), params)
}

// putRight has the last answer of the model as the API takes it back, see [BetaAppend], and
// its calls with the ids by which the runner is to answer them.
func putRight(params *sdk.BetaToolRunnerParams, message *sdk.BetaMessage) {
	f := beta()
	last := len(params.Messages) - 1
	for last >= 0 && f.role(params.Messages[last]) != assistant {
		last--
	}
	right := BetaAppend(params.Messages[:last+1])
	if len(right) == 0 || f.role(right[len(right)-1]) != assistant || len(f.sendable(f.content(params.Messages[last]))) == 0 {
		return
	}
	params.Messages[last] = right[len(right)-1]
	if message == nil {
		return
	}
	sent := f.content(params.Messages[last])
	at := len(sent) - 1 // of the call that is next, from behind
	for i := range slices.Backward(message.Content) {
		b := &message.Content[i]
		if b.Type != "tool_use" {
			continue
		}
		for at >= 0 && sent[at].OfToolUse == nil {
			at--
		}
		if at < 0 {
			return
		}
		var raw map[string]json.RawMessage
		id := sent[at].OfToolUse.ID
		if at--; b.ID != id && json.Unmarshal([]byte(b.RawJSON()), &raw) == nil {
			raw["id"], _ = json.Marshal(id)
			if data, err := json.Marshal(raw); err == nil {
				_ = json.Unmarshal(data, b) // it is what it was, with another id
			}
		}
	}
}

// answerCalls has an answer to each call of a message, none of which waits.
func (t *RunnerTools) answerCalls(ctx context.Context, message *sdk.BetaMessage, params *sdk.BetaToolRunnerParams) error {
	if message == nil || message.StopReason != sdk.BetaStopReasonToolUse {
		return nil
	}
	var answers []profile.Answer
	var err error
	if message != t.message {
		calls := slices.DeleteFunc(betaCalls(message), func(c profile.Call) bool {
			_, ours := t.turn.Set().Lookup(c.Name)
			return !ours
		})
		answers, err = t.turn.Turn.Run(ctx, calls)
	} else {
		unsend(params, message)
		for _, a := range t.answered {
			answers = append(answers, a.answer)
		}
		answers, err = t.turn.Wait(ctx, &profile.WaitingError{Answers: answers})
	}
	if waiting, ok := errors.AsType[*profile.WaitingError](err); ok {
		answers = waiting.Answers
	}
	t.keep(message, answers)
	return err
}

// keep keeps the answers for the runner.
func (t *RunnerTools) keep(message *sdk.BetaMessage, answers []profile.Answer) {
	inputs := map[string][]string{} // of the calls with one id
	for _, b := range message.Content {
		if b.Type == "tool_use" {
			input, _ := json.Marshal(b.AsToolUse().Input) // as the runner does
			inputs[b.ID] = append(inputs[b.ID], string(input))
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.message, t.answered = message, nil
	for _, a := range answers {
		input := inputs[a.Call.ID]
		t.answered, inputs[a.Call.ID] = append(t.answered, answered{answer: a, input: input[0]}), input[1:]
	}
}

// call returns what the model is told of a call that the runner makes.
func (t *RunnerTools) call(ctx context.Context, name string, input json.RawMessage) (parts []profile.Part, failed bool) {
	answer := t.take(name, string(input))
	if answer == nil {
		answer = new(t.turn.Call(ctx, profile.Call{Name: name, Arguments: input}))
	}
	return t.turn.told(answer.Result)
}

// take returns the answer that there is to a call already, once; nil if there is none.
func (t *RunnerTools) take(name, input string) *profile.Answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.answered {
		if a := &t.answered[i]; !a.taken && a.answer.Call.Name == name && a.input == input {
			a.taken = true
			return &a.answer
		}
	}
	return nil
}

// declare puts the whole declarations in place of those that the runner has made of
// the tools, which say less, and the API's own tools behind them, but for those that the
// program has given to the runner.
func declare(params *sdk.BetaToolRunnerParams, whole []sdk.BetaToolUnionParam) {
	byName := map[string]int{}
	for i, p := range params.Tools {
		byName[declaredName(p)] = i
	}
	tools := slices.Clone(params.Tools)
	for _, p := range whole {
		i, ok := byName[declaredName(p)]
		switch {
		case !ok:
			tools = append(tools, p)
		case p.OfTool != nil:
			tools[i] = p
		}
	}
	params.Tools = tools
}

// declaredName returns the name of a tool, which those of the API have in the JSON only.
func declaredName(p sdk.BetaToolUnionParam) string {
	if p.OfTool != nil {
		return p.OfTool.Name
	}
	var is struct{ Name string }
	if data, err := json.Marshal(p); err == nil {
		_ = json.Unmarshal(data, &is)
	}
	return is.Name
}

// unsend takes the results of a message's calls out of the conversation, which a request
// that failed has left there, as the runner puts them there again, also those of tools of
// the program's own. What the program has added behind them stays.
func unsend(params *sdk.BetaToolRunnerParams, message *sdk.BetaMessage) {
	ids := map[string]bool{}
	for _, b := range message.Content {
		if b.Type == "tool_use" {
			ids[b.ID] = true
		}
	}
	said := len(params.Messages) - 1
	for said >= 0 && beta().role(params.Messages[said]) != assistant {
		said--
	}
	if said < 0 || said+1 == len(params.Messages) || !answers(params.Messages[said+1], ids) {
		return
	}
	params.Messages = slices.Delete(slices.Clone(params.Messages), said+1, said+2)
}

// answers reports whether a message has nothing but results of calls.
func answers(message sdk.BetaMessageParam, ids map[string]bool) bool {
	content := beta().content(message)
	for _, b := range content {
		if b.OfToolResult == nil || !ids[b.OfToolResult.ToolUseID] {
			return false
		}
	}
	return len(content) > 0 && beta().role(message) == user
}

// A runnerTool is a tool as the runner has it.
type runnerTool struct {
	tools *RunnerTools
	tool  *profile.Tool
}

func (r *runnerTool) Name() string        { return r.tool.Name }
func (r *runnerTool) Description() string { return r.tool.Description }

func (r *runnerTool) InputSchema() sdk.BetaToolInputSchemaParam {
	return param.Override[sdk.BetaToolInputSchemaParam](r.tool.Schema)
}

// Execute returns the answer to a call. An error is how the runner comes to say
// is_error, and its text is all that the model is told.
func (r *runnerTool) Execute(ctx context.Context, input json.RawMessage) ([]sdk.BetaToolResultBlockParamContentUnion, error) {
	parts, failed := r.tools.call(ctx, r.tool.Name, input)
	if !failed {
		return betaBlocks(parts), nil
	}
	text, _ := profile.Apart(parts)
	return nil, errors.New(text)
}
