package eino_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	belt "github.com/mcpbelt/mcpbelt/adapters/eino"
	"github.com/mcpbelt/mcpbelt/registry"
)

// newAgent makes an agent of the package react, which serves for many runs.
func newAgent(ctx context.Context, reg *registry.Registry, chatModel model.ToolCallingChatModel) (*react.Agent, *belt.Belt, error) {
	b := belt.New(reg, nil)
	tools, err := b.ToolsNode(ctx)
	if err != nil {
		return nil, nil, err
	}
	reacting, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: b.Model(chatModel),
		ToolsConfig:      tools,
		MaxStep:          40,
	})
	return reacting, b, err
}

// ask has one run of it, with the tools of the moment at each step.
func ask(ctx context.Context, reacting *react.Agent, b *belt.Belt, question string) (string, error) {
	answer, err := reacting.Generate(ctx, []*schema.Message{schema.UserMessage(question)}, agent.WithComposeOptions(b.Live(ctx)))
	if err != nil {
		return "", err
	}
	return answer.Content, nil
}

// newRunner makes an agent of adk for one run, or one resume.
func newRunner(ctx context.Context, b *belt.Belt, chatModel model.ToolCallingChatModel, checkpoints adk.CheckPointStore) (*adk.Runner, error) {
	tools, err := b.AgentTools(ctx)
	if err != nil {
		return nil, err
	}
	made, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Description: "has the user's tools",
		Model:       b.Model(chatModel),
		ToolsConfig: tools,
	})
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: made, CheckPointStore: checkpoints}), nil
}

// work shows what comes of a run until it ends or waits, and returns what waits.
func work(events *adk.AsyncIterator[*adk.AgentEvent]) ([]belt.Wait, error) {
	var waits []belt.Wait
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return nil, event.Err
		}
		if event.Action != nil && event.Action.Interrupted != nil {
			waits = belt.Waits(event.Action.Interrupted.InterruptContexts)
		}
		if event.Output != nil && event.Output.MessageOutput != nil && event.Output.MessageOutput.Role == schema.Assistant {
			message, err := event.Output.MessageOutput.GetMessage()
			if err != nil {
				return nil, err
			}
			if message.Content != "" {
				fmt.Println(message.Content)
			}
		}
	}
	return waits, nil
}

// decide asks the person in front of the program.
func decide(waits []belt.Wait) map[string]any {
	targets := map[string]any{}
	for _, w := range waits {
		if w.Login {
			fmt.Println("log in at", w.LoginURL)
			targets[w.InterruptID] = nil
			continue
		}
		fmt.Printf("%s %s: approved\n", w.Tool, w.Arguments)
		targets[w.InterruptID] = belt.Decision{Approve: true}
	}
	return targets
}

func ExampleBelt_Live() {
	ctx := context.Background()
	reg, chatModel := scripted()

	reacting, b, err := newAgent(ctx, reg, chatModel)
	if err != nil {
		panic(err)
	}
	answer, err := ask(ctx, reacting, b, "What is in the folder?")
	if err != nil {
		panic(err)
	}
	fmt.Println(answer)
	// Output: It is empty.
}

func ExampleBelt_AgentTools() {
	ctx := context.Background()
	reg, chatModel := scriptedWithApproval()
	checkpoints := newStore()
	b := belt.New(reg, nil)

	runner, err := newRunner(ctx, b, chatModel, checkpoints)
	if err != nil {
		panic(err)
	}
	waits, err := work(runner.Query(ctx, "Clean up", adk.WithCheckPointID("conversation 7")))
	for err == nil && len(waits) > 0 {
		if runner, err = newRunner(ctx, b, chatModel, checkpoints); err != nil {
			break
		}
		var events *adk.AsyncIterator[*adk.AgentEvent]
		if events, err = runner.ResumeWithParams(ctx, "conversation 7", &adk.ResumeParams{Targets: decide(waits)}); err != nil {
			break
		}
		waits, err = work(events)
	}
	if err != nil {
		panic(err)
	}
	// Output:
	// remove {"name":"old.txt"}: approved
	// It is gone.
}

func ExampleWaits() {
	ctx := context.Background()
	reg, _ := scriptedWithApproval()
	b := belt.New(reg, nil)
	config, err := b.ToolsNode(ctx)
	if err != nil {
		panic(err)
	}
	node, err := compose.NewToolNode(ctx, &config)
	if err != nil {
		panic(err)
	}
	chain, err := compose.NewChain[*schema.Message, []*schema.Message]().AppendToolsNode(node).Compile(ctx, compose.WithCheckPointStore(newStore()))
	if err != nil {
		panic(err)
	}
	_, err = chain.Invoke(ctx, call("remove", `{"name":"old.txt"}`), compose.WithCheckPointID("7"))
	info, interrupted := compose.ExtractInterruptInfo(err)
	if !interrupted {
		panic(err)
	}
	for _, w := range belt.Waits(info.InterruptContexts) {
		fmt.Printf("%s %s waits\n", w.Tool, w.Arguments)
		if _, err := reg.Approve(ctx, w.Approval, nil); err != nil { // from anywhere
			panic(err)
		}
	}
	results, err := chain.Invoke(ctx, nil, compose.WithCheckPointID("7"))
	if err != nil {
		panic(err)
	}
	for _, m := range b.Messages(results) {
		fmt.Println(m.Content)
	}
	// Output:
	// remove {"name":"old.txt"} waits
	// removed old.txt
}

func ExampleBelt_Tools() {
	ctx := context.Background()
	reg, _ := scripted()
	tools, err := belt.New(reg, nil).Tools(ctx)
	if err != nil {
		panic(err)
	}
	for _, t := range tools {
		info, err := t.Info(ctx)
		if err != nil {
			panic(err)
		}
		fmt.Println(info.Name+":", info.Desc)
	}
	// Output: list: Lists a folder
}
