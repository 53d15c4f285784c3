// Agent answers one question with the help of tools: those of the MCP servers
// in a configuration file, and a native one written in Go.
//
// It is a complete tool-calling loop against any endpoint that speaks the
// OpenAI chat completions API. Copy it and make it yours: loop.go is the loop,
// chat.go the endpoint and terminal.go the user. If there are too many tools for a model
// to read, it searches for those that it needs.
//
// Calls that may change something have to be approved on the terminal. If a server
// requires a login its address is shown and opened in the browser; the login is forgotten
// at the end, unless you keep it with session/filestore.
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

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
	"github.com/mcpbelt/mcpbelt/session"
)

// loginWait is how long the agent waits for logins before it goes on without.
const loginWait = 3 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// run is the program. It returns the exit status.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.SetOutput(stderr)
	config := flags.String("config", "mcp.json", "`file` that names the MCP servers")
	maxSteps := flags.Int("max-steps", 10, "how often the model is asked at most")
	maxResult := flags.Int("max-result", 20_000, "how many `bytes` of a tool's result the model gets at once")
	window := flags.Int("context-window", 200_000, "how many `tokens` the model takes; if the tools would take much of it, it searches for them")
	yes := flags.Bool("yes", false, "make all calls without asking")
	browser := flags.Bool("browser", true, "open logins in the browser")
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
	approver := policy.Cautious()
	if *yes {
		approver, _ = policy.New(approval.Allow) // has no rule that could be wrong
	}
	user := newTerminal(limited, stdin, stderr, approver)
	agent := &Agent{Endpoint: endpoint, User: user, MaxSteps: *maxSteps, ContextWindow: *window}
	agent.Registry = registry.New(&registry.Options{
		Approver: user,
		Results:  &result.Options{MaxBytes: *maxResult},
	})
	var err error
	if agent.Finder, err = toolset.New(agent.Registry, nil); err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		return 1
	}
	prompt := &auth.Loopback{Out: io.Discard} // the terminal shows the address
	if !*browser {
		prompt.Open = func(context.Context, string) error { return nil }
	}
	answer, err := respond(limited, *config, flags.Arg(0), agent, prompt)
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

// respond gives the agent the tools of the servers in config, and the native one,
// for one question.
func respond(ctx context.Context, config, question string, agent *Agent, prompt auth.Prompt) (string, error) {
	logins, err := login.New(session.Memory(), &login.Options{Session: session.Options{Prompt: prompt}})
	if err != nil {
		return "", err
	}
	defer logins.Close()
	h, err := host.Open(ctx, config, &host.Options{Registry: agent.Registry, Logins: logins, OpenWait: 10 * time.Second})
	if err != nil {
		return "", err
	}
	defer h.Close()
	waitForLogins(ctx, h, agent.User)
	for _, s := range h.Servers() {
		if s.Err != nil {
			agent.User.Say("going on without server %s: %v", s.Name, s.Err)
		}
	}
	native, err := registry.With(registry.MustFunc("add", "Add two numbers.", add), func(d *registry.Definition) {
		d.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true} // so no user has to approve it
	})
	if err != nil {
		return "", err
	}
	if err := agent.Registry.Add(native); err != nil {
		return "", err
	}
	return agent.Run(ctx, question)
}

// waitForLogins shows where servers want the user to log in, and waits a while until
// these are ready.
func waitForLogins(ctx context.Context, h *host.Host, user *Terminal) {
	ctx, cancel := context.WithTimeout(ctx, loginWait)
	defer cancel()
	shown := map[string]string{} // addresses by server
	for servers := range h.Watch(ctx) {
		waiting := false
		for _, s := range servers {
			url := s.State.LoginURL
			if s.Stage == host.StageLogin && url != "" && shown[s.Name] != url {
				shown[s.Name] = url
				user.Login("server "+s.Name, url)
			}
			waiting = waiting || shown[s.Name] != "" && (s.Stage == host.StageLogin && url != "" || s.Stage == host.StageStarting)
		}
		if !waiting {
			return
		}
	}
}

type addends struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

// add is the native tool.
func add(_ context.Context, in addends) (float64, error) { return in.A + in.B, nil }
