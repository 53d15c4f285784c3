// Agent answers one question with the help of tools: those of the MCP servers
// in a configuration file, and a native one written in Go.
//
// It is a complete tool-calling loop against any endpoint that speaks the
// OpenAI chat completions API. Copy it and make it yours: loop.go is the loop and
// chat.go the endpoint. A model that is told of too many tools to read them all
// searches for those that it needs.
//
//	OPENAI_API_KEY=… OPENAI_MODEL=… agent [flags] "question"
//
// OPENAI_BASE_URL names another endpoint, such as a local one without a key.
// The exit status is 0 after an answer, 1 after a failure, 2 for a wrong command
// line, 3 if there was no answer within -max-steps, and 130 after an interrupt.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/registry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is the program. It returns the exit status.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.SetOutput(stderr)
	config := flags.String("config", ".mcp.json", "`file` that names the MCP servers")
	maxSteps := flags.Int("max-steps", 10, "how often the model is asked at most")
	maxResult := flags.Int("max-result", 20_000, "how many `bytes` of a tool's result the model gets at once")
	window := flags.Int("context-window", 200_000, "how many `tokens` the model takes; if the tools would take much of it, it searches for them")
	timeout := flags.Duration("timeout", 10*time.Minute, "how long everything may take")
	if flags.Parse(args) != nil {
		return 2
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	endpoint := &Endpoint{
		BaseURL:   cmp.Or(getenv("OPENAI_BASE_URL"), "https://api.openai.com/v1"),
		Key:       strings.TrimSpace(getenv("OPENAI_API_KEY")),
		Model:     getenv("OPENAI_MODEL"),
		Transport: transport,
	}
	if flags.NArg() != 1 || endpoint.Model == "" {
		fmt.Fprintln(stderr, "agent: give the question as one argument, and the name of a model in OPENAI_MODEL")
		return 2
	}

	limited, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	agent := &Agent{Endpoint: endpoint, MaxSteps: *maxSteps, ContextWindow: *window}
	agent.Registry = registry.New(&registry.Options{
		Results: &registry.ResultOptions{MaxBytes: *maxResult},
		Search:  &registry.SearchOptions{},
	})
	answer, err := ask(limited, *config, flags.Arg(0), agent, stderr)
	if err == nil {
		fmt.Fprintln(stdout, answer)
		return 0
	}
	fmt.Fprintln(stderr, "agent:", err)
	switch {
	case ctx.Err() != nil:
		return 130
	case errors.Is(err, ErrMaxSteps):
		return 3
	default:
		return 1
	}
}

// ask gives the agent the tools of the servers in config, and the native one,
// for one question.
func ask(ctx context.Context, config, question string, agent *Agent, stderr io.Writer) (string, error) {
	h, err := host.Open(ctx, config, &host.Options{Registry: agent.Registry})
	if err != nil {
		return "", err
	}
	defer h.Close()
	for _, s := range h.Servers() {
		if s.Err != nil {
			fmt.Fprintf(stderr, "agent: going on without server %s: %v\n", s.Name, s.Err)
		}
	}
	if err := agent.Registry.Add(registry.MustFunc("add", "Add two numbers.", add)); err != nil {
		return "", err
	}
	return agent.Run(ctx, question)
}

type addends struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

// add is the native tool.
func add(_ context.Context, in addends) (float64, error) { return in.A + in.B, nil }
