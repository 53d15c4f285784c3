// Careful is the second agent of docs/getting-started.md: it asks the user before a tool
// does more than read, and holds tools back that have changed since they were accepted.
//
//	OPENAI_API_KEY=… OPENAI_MODEL=… go run . "Note that we need milk."
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	belt "github.com/mcpbelt/mcpbelt/adapters/goopenai"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, question string) error {
	accepted, err := ledger.Open("mcp.lock.json", nil) // commit it beside mcp.json
	if err != nil {
		return err
	}
	tools := registry.New(&registry.Options{
		Ledger:   accepted,          // holds back what is new or changed
		Approver: policy.Cautious(), // asks for all but what trusted tools only read
		Results:  &result.Options{}, // keeps a result from flooding the model
	})
	h, err := host.Open(ctx, "mcp.json", &host.Options{Registry: tools, OpenWait: time.Minute})
	if err != nil {
		return err
	}
	defer h.Close()
	return chat(ctx, tools, question)
}

// chat lets the model work until it has an answer.
func chat(ctx context.Context, tools *registry.Registry, question string) error {
	config := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
	if url := os.Getenv("OPENAI_BASE_URL"); url != "" {
		config.BaseURL = url
	}
	client := openai.NewClientWithConfig(config)
	messages := []openai.ChatCompletionMessage{{Role: "user", Content: question}}
	keyboard := bufio.NewReader(os.Stdin)
	for {
		turn, err := belt.Tools(ctx, tools, nil)
		if err != nil {
			return err
		}
		response, err := client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
			Model: os.Getenv("OPENAI_MODEL"), Messages: messages, Tools: turn.Params(),
		})
		if err != nil {
			return err
		}
		choice := response.Choices[0]
		results, err := turn.Run(ctx, choice)
		if waiting, ok := errors.AsType[*profile.WaitingError](err); ok {
			if err := ask(ctx, tools, waiting, keyboard); err != nil {
				return err
			}
			var answers []profile.Answer
			answers, err = turn.Wait(ctx, waiting)
			results = turn.Results(answers...)
		}
		if err != nil {
			return err
		}
		if results == nil {
			fmt.Println(choice.Message.Content)
			return nil
		}
		messages = belt.Append(belt.Append(messages, belt.Message(choice)), results...)
	}
}

// ask lets the user approve or refuse each call that waits.
func ask(ctx context.Context, tools *registry.Registry, waiting *profile.WaitingError, keyboard *bufio.Reader) error {
	for _, answer := range waiting.Waiting() {
		call := answer.Approval()
		if call == nil {
			continue // it waits for a login: answer.Login has the address
		}
		fmt.Printf("call %s %s? [y/n] ", call.Tool.Name, call.Args)
		line, err := keyboard.ReadString('\n')
		if err != nil {
			return err
		}
		if strings.TrimSpace(line) == "y" {
			_, err = tools.Approve(ctx, call.ID, nil) // makes the call; Wait has what came of it, errors, too
		} else {
			err = tools.Deny(ctx, call.ID, "the user said no")
		}
		if err != nil {
			log.Print(err)
		}
	}
	return nil
}
