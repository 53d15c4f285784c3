package fantasy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/examples/recipes/fantasy/standin/fantasy"
	"github.com/mcpbelt/mcpbelt/examples/recipes/internal/crew"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A result is what a step of the agent keeps of a call.
type result struct {
	fantasy.ToolResponse
	err error
}

type want struct{ name, args string }

// step does what the agent does in one step, as far as tools go: it asks for the tools,
// refuses calls that lack what is required or have what nobody knows, runs those that
// may run beside others together, and looks whether the turn is over.
func step(ctx context.Context, t *testing.T, r *registry.Registry, calls ...want) (results []result, stop bool) {
	t.Helper()
	ctx, prepared, err := PrepareStep(r, nil)(ctx, fantasy.PrepareStepFunctionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]fantasy.AgentTool{}
	for _, tool := range prepared.Tools {
		tools[tool.Info().Name] = tool
	}
	results = make([]result, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		tool := tools[c.name]
		if tool == nil {
			t.Fatalf("there is no tool %s", c.name)
		}
		if err := validate(tool.Info(), c.args); err != nil {
			results[i].err = err
			continue
		}
		if !tool.Info().Parallel {
			t.Errorf("%s runs alone", c.name)
		}
		wg.Go(func() {
			results[i].ToolResponse, results[i].err = tool.Run(ctx, fantasy.ToolCall{ID: fmt.Sprint(i), Name: c.name, Input: c.args})
		})
	}
	wg.Wait()
	for _, r := range results {
		stop = stop || r.StopTurn
	}
	return results, stop
}

func validate(info fantasy.ToolInfo, input string) error {
	var args map[string]any
	if err := json.Unmarshal([]byte(input), &args); err != nil {
		return err
	}
	for _, name := range info.Required {
		if _, ok := args[name]; !ok {
			return fmt.Errorf("missing required parameter: %s", name)
		}
	}
	for name := range args {
		if _, ok := info.Parameters[name]; !ok && len(info.Parameters) > 0 {
			return fmt.Errorf("unknown additional parameter: %s", name)
		}
	}
	return nil
}

func newCrew(t *testing.T) *crew.Crew {
	t.Helper()
	c, err := crew.New()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParallel(t *testing.T) {
	res, stop := step(t.Context(), t, newCrew(t).Registry, want{"meet", `{}`}, want{"fail", `{}`}, want{"meet", `{}`})
	if stop || res[0].Content != "met" || res[2].Content != "met" || res[0].IsError || res[0].err != nil {
		t.Errorf("%+v", res)
	}
	if !res[1].IsError || res[1].Content != "the disk is full" || res[1].err != nil {
		t.Errorf("%+v", res[1])
	}
}

func TestResults(t *testing.T) {
	c := newCrew(t)
	for _, x := range []struct{ name, args, content string }{
		{"echo", `{"text":"hi"}`, `{"text":"hi"}`},
		{"nothing", `{}`, "The tool returned nothing."},
		{"plan", `{"when":1,"owner":{"name":"Ada"},"note":null}`, `{"when":1,"owner":{"name":"Ada"},"note":null}`},
	} {
		if res, _ := step(t.Context(), t, c.Registry, want{x.name, x.args}); res[0].Content != x.content || res[0].Type != "text" || res[0].IsError {
			t.Errorf("%s: %+v", x.name, res[0])
		}
	}
	res, _ := step(t.Context(), t, c.Registry, want{"picture", `{}`})
	if res[0].Type != "image" || res[0].MediaType != "image/png" || !bytes.Equal(res[0].Data, crew.Picture()) || !strings.HasPrefix(res[0].Content, "look:\n[image image/png, ") {
		t.Errorf("%+v", res[0])
	}
	if res, _ := step(t.Context(), t, c.Registry, want{"plan", `{"when":{},"owner":{"name":"Ada"}}`}); !res[0].IsError || !strings.Contains(res[0].Content, "when") {
		t.Errorf("%+v", res[0])
	}
}

func TestDeclarations(t *testing.T) {
	all, err := Tools(t.Context(), newCrew(t).Registry, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range all {
		info := tool.Info()
		data, err := json.Marshal(info.Parameters)
		if len(info.Name) > 64 || err != nil || info.Parameters == nil || info.Required == nil || bytes.Contains(data, []byte("$ref")) {
			t.Errorf("%+v: %s, %v", info, data, err)
		}
		if info.Name == "plan" && (len(info.Required) != 2 || !bytes.Contains(data, []byte(`"anyOf"`)) || !bytes.Contains(data, []byte(`"null"`))) {
			t.Errorf("%+v: %s", info, data)
		}
		tool.SetProviderOptions(fantasy.ProviderOptions{"a": 1})
		if len(tool.ProviderOptions()) != 1 {
			t.Error("the options are lost")
		}
	}
}

func TestNoTools(t *testing.T) {
	tools, err := Tools(t.Context(), registry.New(nil), nil)
	if tools == nil || len(tools) > 0 || err != nil {
		t.Errorf("%v, %v", tools, err)
	}
}

func TestOneImage(t *testing.T) {
	picture, _ := step(t.Context(), t, newCrew(t).Registry, want{"picture", `{}`})
	if picture[0].Data == nil {
		t.Fatal("no image")
	}
	c := newCrew(t)
	turn, err := profile.NewTurn(t.Context(), c.Registry, profile.Bedrock, nil)
	if err != nil {
		t.Fatal(err)
	}
	answers := make([]profile.Answer, 2)
	for i := range answers {
		res, err := c.Registry.Call(t.Context(), "picture", nil)
		if err != nil {
			t.Fatal(err)
		}
		twice := *res
		twice.Content = append(twice.Content, twice.Content...)
		twice.IsError = i == 1
		answers[i].Result = &twice
	}
	if got := response(turn, answers[0]); strings.Count(got.Content, ", attached]") != 1 || strings.Count(got.Content, "[image") != 2 {
		t.Errorf("%+v", got)
	}
	if got := response(turn, answers[1]); got.Data != nil || got.Type != "text" || !got.IsError {
		t.Errorf("%+v", got)
	}
	blind, err := profile.NewTurn(t.Context(), c.Registry, profile.Bedrock, &profile.TurnOptions{TextOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := response(blind, answers[0]); got.Data != nil || got.Type != "text" || strings.Count(got.Content, "[image") != 2 {
		t.Errorf("a model that takes text only gets %+v", got)
	}
}

func TestApproval(t *testing.T) {
	c := newCrew(t)
	res, stop := step(t.Context(), t, c.Registry, want{"echo", `{"text":"x"}`}, want{"danger", `{}`})
	var waiting *WaitingError
	if !stop || !errors.As(res[1].err, &waiting) || c.Ran("danger") != 0 || res[0].err != nil {
		t.Fatalf("%+v, stop %v", res, stop)
	}
	var inner *profile.WaitingError
	if !errors.As(res[1].err, &inner) {
		t.Errorf("%v is no *profile.WaitingError", res[1].err)
	}
	if _, err := c.Registry.Approve(t.Context(), waiting.Waiting()[0].Approval().ID, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := waiting.Wait(t.Context()); err != nil || got.Content != "it is done" || c.Ran("danger") != 1 || c.Ran("echo") != 1 {
		t.Errorf("%+v, %v", got, err)
	}

	res, _ = step(t.Context(), t, c.Registry, want{"danger", `{}`})
	if !errors.As(res[0].err, &waiting) {
		t.Fatalf("%+v", res)
	}
	if err := c.Registry.Deny(t.Context(), waiting.Waiting()[0].Approval().ID, "not on a Friday"); err != nil {
		t.Fatal(err)
	}
	if got, err := waiting.Wait(t.Context()); err != nil || !got.IsError || !strings.Contains(got.Content, "not on a Friday") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLogin(t *testing.T) {
	c := newCrew(t)
	res, stop := step(t.Context(), t, c.Registry, want{"unlock", `{}`})
	var waiting *WaitingError
	if !stop || !errors.As(res[0].err, &waiting) {
		t.Fatalf("%+v", res)
	}
	if url, ok := waiting.Waiting()[0].Login(); !ok || url != crew.LoginURL {
		t.Errorf("%q", url)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := waiting.Wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	c.LogIn()
	if got, err := waiting.Wait(t.Context()); err != nil || got.Content != "unlocked" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestChange(t *testing.T) {
	c := newCrew(t)
	if err := c.AddLate(); err != nil {
		t.Fatal(err)
	}
	if res, _ := step(t.Context(), t, c.Registry, want{"late", `{}`}); res[0].Content != "better late" {
		t.Errorf("%+v", res)
	}
}

func TestCancel(t *testing.T) {
	c := newCrew(t)
	gone := errors.New("the user has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-c.Began
		cancel(gone)
	}()
	if res, _ := step(ctx, t, c.Registry, want{"wait", `{}`}); !errors.Is(res[0].err, gone) {
		t.Errorf("%+v", res)
	}
	<-c.Ended
}

// TestWaitGoesOn has the context of Wait end when the call has been made: the next Wait
// knows of it, and makes no other.
func TestWaitGoesOn(t *testing.T) {
	c := newCrew(t)
	ctx, cancel := context.WithCancel(t.Context())
	made := 0
	c.Registry.Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
			res, err := next(ctx, call)
			if err == nil {
				made++
				cancel()
			}
			return res, err
		}
	})
	res, _ := step(t.Context(), t, c.Registry, want{"unlock", `{}`})
	var waiting *WaitingError
	if !errors.As(res[0].err, &waiting) {
		t.Fatalf("%+v", res)
	}
	c.LogIn()
	if _, err := waiting.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got, err := waiting.Wait(t.Context()); err != nil || got.Content != "unlocked" || made != 1 {
		t.Errorf("%+v, %v, made %d times", got, err, made)
	}
}
