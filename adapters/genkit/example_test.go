package genkit_test

import (
	"context"
	"fmt"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	belt "github.com/mcpbelt/mcpbelt/adapters/genkit"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// exampleModel is a model that calls the tool first that it is told of, and then says
// what it was told.
func exampleModel(g *genkit.Genkit) {
	supports := &ai.ModelSupports{Multiturn: true, Tools: true}
	genkit.DefineModel(g, "example/model", &ai.ModelOptions{Supports: supports}, func(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		last := req.Messages[len(req.Messages)-1]
		part := ai.NewTextPart("I see.")
		if last.Role == ai.RoleTool {
			part = ai.NewTextPart(fmt.Sprint("The tool says: ", last.Content[0].ToolResponse.Output))
		} else if len(req.Tools) > 0 {
			part = ai.NewToolRequestPart(&ai.ToolRequest{Name: req.Tools[0].Name, Input: map[string]any{"city": "Berlin"}})
		}
		return &ai.ModelResponse{Request: req, Message: ai.NewModelMessage(part)}, nil
	})
}

type place struct {
	City string `json:"city"`
}

func exampleRegistry(opts *registry.Options) *registry.Registry {
	reg := registry.New(opts)
	err := reg.Add(registry.MustFunc("weather", "The weather in a city", func(_ context.Context, p place) (string, error) {
		return "rain in " + p.City, nil
	}))
	if err != nil {
		panic(err)
	}
	return reg
}

func ExampleTools() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g := genkit.Init(ctx, genkit.WithDefaultModel("example/model"))
	exampleModel(g)
	reg := exampleRegistry(nil)

	turn, err := belt.Tools(ctx, reg, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := genkit.Generate(ctx, g, turn.Options(ai.WithPrompt("How is the weather?"))...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Text())
	// Output: The tool says: rain in Berlin
}

// Chat is one message of a conversation: until the model says something, or calls
// wait for a person. It goes on after those when responses are given.
func chat(ctx context.Context, g *genkit.Genkit, reg *registry.Registry, history []*ai.Message, responses ...*ai.Part) (*ai.ModelResponse, error) {
	turn, err := belt.Tools(ctx, reg, &belt.Options{Provider: profile.OpenAI, History: history})
	if err != nil {
		return nil, err
	}
	return genkit.Generate(ctx, g, turn.Options(
		ai.WithMessages(history...),
		ai.WithToolResponses(responses...),
		ai.WithMaxTurns(20),
	)...)
}

func ExampleTurn_Responses() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g := genkit.Init(ctx, genkit.WithDefaultModel("example/model"))
	exampleModel(g)
	policy, err := policy.New(approval.Allow, policy.Rule{Verdict: approval.Ask, Tool: "weather"})
	if err != nil {
		fmt.Println(err)
		return
	}
	reg := exampleRegistry(&registry.Options{Approver: policy})

	resp, err := chat(ctx, g, reg, []*ai.Message{ai.NewUserTextMessage("How is the weather?")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, i := range belt.Interrupts(resp) {
		fmt.Println("may it call", i.Tool, "with", string(i.Arguments))
		if _, err := reg.Approve(ctx, i.Approval, nil); err != nil { // from wherever the person answers
			fmt.Println(err)
		}
	}
	turn, err := belt.Tools(ctx, reg, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	responses, err := turn.Responses(ctx, resp)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err = chat(ctx, g, reg, resp.History(), responses...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Text())
	// Output:
	// may it call weather with {"city":"Berlin"}
	// The tool says: rain in Berlin
}

func ExampleInterrupts() {
	for _, i := range belt.Interrupts(nil) {
		switch {
		case i.Approval != "":
			fmt.Println("approve", i.Tool, i.Approval)
		case i.Login:
			fmt.Println("log in at", i.LoginURL)
		}
	}
	// Output:
}

// A prompt of the program's own, with the tools of the registry.
func ExampleTurn_PromptOptions() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g := genkit.Init(ctx, genkit.WithDefaultModel("example/model"))
	exampleModel(g)
	reg := exampleRegistry(nil)
	prompt := genkit.DefinePrompt(g, "weather", ai.WithPrompt("How is the weather in {{city}}?"))

	turn, err := belt.Tools(ctx, reg, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := prompt.Execute(ctx, turn.PromptOptions(ai.WithInput(map[string]any{"city": "Berlin"}))...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Text())
	// Output: The tool says: rain in Berlin
}
