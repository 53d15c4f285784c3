// First is the first agent of docs/getting-started.md: a model that calls the tools of the
// servers in mcp.json.
//
//	OPENAI_API_KEY=… OPENAI_MODEL=… go run . "What is in this folder?"
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/sashabaranov/go-openai"

	belt "github.com/mcpbelt/mcpbelt/adapters/goopenai"
	"github.com/mcpbelt/mcpbelt/host"
)

func main() {
	ctx := context.Background()
	h, err := host.Open(ctx, "mcp.json", &host.Options{OpenWait: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	for _, s := range h.Servers() {
		log.Printf("%s: %s, %d tools %v", s.Name, s.Stage, s.Tools, s.Err)
	}

	config := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
	if url := os.Getenv("OPENAI_BASE_URL"); url != "" { // any server that speaks Chat Completions
		config.BaseURL = url
	}
	client := openai.NewClientWithConfig(config)
	messages := []openai.ChatCompletionMessage{{Role: "user", Content: os.Args[1]}}
	for {
		turn, err := belt.Tools(ctx, h.Registry(), nil) // the tools that are there now
		if err != nil {
			log.Fatal(err)
		}
		response, err := client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
			Model: os.Getenv("OPENAI_MODEL"), Messages: messages, Tools: turn.Params(),
		})
		if err != nil {
			log.Fatal(err)
		}
		choice := response.Choices[0]
		results, err := turn.Run(ctx, choice) // all calls of the message, at the same time
		if err != nil {
			log.Fatal(err)
		}
		if results == nil { // the model has called nothing
			fmt.Println(choice.Message.Content)
			return
		}
		messages = belt.Append(belt.Append(messages, belt.Message(choice)), results...)
	}
}
