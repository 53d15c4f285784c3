// Package adk is a recipe: the tools of a registry as a toolset of
// google.golang.org/adk/v2. Copy this file, and import ADK's packages in place of those
// that stand in for them here.
package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/agent"
	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/genai"
	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/model"
	"github.com/mcpbelt/mcpbelt/examples/recipes/adk/standin/tool"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Toolset is a set of tools for an agent. It is safe for concurrent use.
type Toolset struct {
	registry *registry.Registry
	opts     *profile.TurnOptions

	mu      sync.Mutex
	waiting map[callKey]waitingCall
}

// A callKey is a call of a conversation: ids are the models', and may come again in others.
type callKey struct{ session, call string }

func keyOf(ctx agent.Context) callKey { return callKey{ctx.SessionID(), ctx.FunctionCallID()} }

type waitingCall struct {
	turn *profile.Turn
	err  *profile.WaitingError
	at   time.Time
}

// longest is how long a call is remembered that nobody answers.
const longest = 24 * time.Hour

// NewToolset returns the tools of a registry. The options may be nil.
func NewToolset(r *registry.Registry, opts *profile.TurnOptions) *Toolset {
	return &Toolset{registry: r, opts: opts, waiting: map[callKey]waitingCall{}}
}

// Name returns the name of the toolset.
func (s *Toolset) Name() string { return "belt" }

// Tools returns the tools of the moment, for the user of ctx. ADK asks once for each
// message of the user.
func (s *Toolset) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	turn, err := profile.NewTurn(ctx, s.registry, profile.Gemini, s.opts)
	if err != nil {
		return nil, err
	}
	var all []tool.Tool
	for _, t := range turn.Set().Tools() {
		all = append(all, &beltTool{s, turn, t})
	}
	return all, nil
}

// A beltTool is one of them.
type beltTool struct {
	set  *Toolset
	turn *profile.Turn
	tool *profile.Tool
}

func (t *beltTool) Name() string        { return t.tool.Name }
func (t *beltTool) Description() string { return t.tool.Description }
func (t *beltTool) IsLongRunning() bool { return false }

// Declaration returns what the model is told.
func (t *beltTool) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: t.tool.Name, Description: t.tool.Description, ParametersJsonSchema: t.tool.Schema}
}

// ProcessRequest puts the tool into a request: all declarations go into one genai.Tool.
func (t *beltTool) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	if _, ok := req.Tools[t.Name()]; ok {
		return fmt.Errorf("there are two tools %q", t.Name())
	}
	if req.Tools == nil {
		req.Tools = map[string]any{}
	}
	req.Tools[t.Name()] = t
	if req.Config == nil {
		req.Config = &genai.GenerateContentConfig{}
	}
	for _, group := range req.Config.Tools {
		if group != nil && group.FunctionDeclarations != nil {
			group.FunctionDeclarations = append(group.FunctionDeclarations, t.Declaration())
			return nil
		}
	}
	req.Config.Tools = append(req.Config.Tools, &genai.Tool{FunctionDeclarations: []*genai.FunctionDeclaration{t.Declaration()}})
	return nil
}

// Run makes a call. One that waits for a person asks for ADK's confirmation, and ADK runs
// it again when there is one. An error becomes the result that the model gets.
func (t *beltTool) Run(ctx agent.Context, args any) (map[string]any, error) {
	if confirmation := ctx.ToolConfirmation(); confirmation != nil {
		if call, ok := t.set.take(keyOf(ctx)); ok {
			answers, err := t.set.settle(ctx, call, confirmation.Confirmed)
			return t.result(ctx, call.turn, answers, err)
		}
		return nil, errors.New("the confirmation came too late; call the tool again")
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	answers, err := t.turn.Run(ctx, []profile.Call{{ID: ctx.FunctionCallID(), Name: t.Name(), Arguments: raw}})
	return t.result(ctx, t.turn, answers, err)
}

// settle does what the person says, and returns what came of it.
func (s *Toolset) settle(ctx context.Context, call waitingCall, confirmed bool) ([]profile.Answer, error) {
	a := call.err.Waiting()[0]
	request := a.Approval()
	var err error
	switch {
	case request == nil && confirmed:
		return call.turn.Run(ctx, []profile.Call{a.Call}) // there was a login
	case request == nil:
		return call.err.Answers, nil // the model is told that there has to be one
	case confirmed:
		_, err = s.registry.Approve(ctx, request.ID, nil)
	default:
		err = s.registry.Deny(ctx, request.ID, "The user does not want this call.")
	}
	if err != nil && ctx.Err() == nil && !answered(err) && mcp.OutcomeOf(err) == mcp.NotSent {
		a.Result, a.Err = registry.ErrorResult(err), err // it goes on waiting; the model is told
		return []profile.Answer{a}, nil
	}
	return call.turn.Wait(ctx, call.err)
}

// answered reports whether somebody has answered already: Wait returns what he said.
func answered(err error) bool {
	var unknown *registry.UnknownApprovalError
	return errors.As(err, &unknown)
}

// result returns an answer as ADK takes it.
func (t *beltTool) result(ctx agent.Context, turn *profile.Turn, answers []profile.Answer, err error) (map[string]any, error) {
	var waiting *profile.WaitingError
	if errors.As(err, &waiting) {
		t.set.keep(keyOf(ctx), waitingCall{turn, waiting, time.Now()})
		if err := ctx.RequestConfirmation(hint(waiting), nil); err != nil {
			return nil, err
		}
		ctx.Actions().SkipSummarization = true
		return nil, waiting
	}
	if err != nil {
		return nil, err
	}
	parts := turn.Parts(answers[0].Result)
	for i := range parts {
		parts[i].Data = nil // ADK has no place for images in a result
	}
	text, _ := profile.Apart(parts)
	if answers[0].Result.IsError {
		return nil, errors.New(text)
	}
	return map[string]any{"output": text}, nil
}

// hint is what the person is asked.
func hint(waiting *profile.WaitingError) string {
	for _, a := range waiting.Waiting() {
		if request := a.Approval(); request != nil {
			return fmt.Sprintf("May %s be called with %s? %s", request.Tool.Name, request.Args, request.Reason)
		}
		if url, ok := a.Login(); ok {
			return fmt.Sprintf("%s needs a login. Confirm when you have logged in: %s", a.Call.Name, url)
		}
	}
	return ""
}

func (s *Toolset) keep(id callKey, call waitingCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for old, c := range s.waiting {
		if call.at.Sub(c.at) > longest {
			delete(s.waiting, old)
		}
	}
	s.waiting[id] = call
}

func (s *Toolset) take(id callKey) (waitingCall, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call, ok := s.waiting[id]
	delete(s.waiting, id)
	return call, ok
}
