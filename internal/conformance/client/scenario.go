package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/skills"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A Play acts the client's part of a scenario.
type Play func(ctx context.Context, url string, given *Given) error

// scenario returns the play with the name, or nil.
func scenario(name string) Play {
	switch name {
	case "initialize", "json-schema-ref-no-deref":
		return with(nil, listTools)
	case "request-metadata":
		return with(nil, connect)
	case "tools_call":
		return calling(nil, "add_numbers", `{"a":5,"b":3}`)
	case "sse-retry":
		return calling(nil, "test_reconnection", `{}`)
	case "elicitation-sep1034-client-defaults":
		return calling(accepting(map[string]any{}), "test_client_elicitation_defaults", `{}`) // the defaults of the question's schema are to be sent
	case "json-schema-2020-12-preservation":
		return with(nil, echoSchema)
	case "sep-2322-client-request-state":
		return with(accepting(map[string]any{"confirmed": true}), requestState)
	case "http-standard-headers", "http-invalid-tool-headers":
		return with(nil, callEveryTool)
	case "http-custom-headers":
		return with(nil, callGiven)
	case "sep-2640-client-no-prefetch":
		return withSkills(false)
	case "sep-2640-client-verify-digest", "sep-2640-client-verify-frontmatter", "sep-2640-client-verify-size":
		return withSkills(true)
	case "auth/dpop", "auth/dpop-nonce":
		return loggingIn(withDPoP)
	case "auth/client-credentials-basic", "auth/client-credentials-jwt":
		return loggingIn(clientCredentials)
	case "auth/enterprise-managed-authorization":
		return loggingIn(enterprise)
	case "auth/wif-jwt-bearer":
		return loggingIn(workload)
	}
	if strings.HasPrefix(name, "auth/") {
		return loggingIn(authorizationCode)
	}
	return nil
}

// with connects and acts by the client.
func with(opts *mcp.ClientOptions, do func(ctx context.Context, c *mcp.Client, given *Given) error) Play {
	return func(ctx context.Context, url string, given *Given) error {
		c := newClient(&transport.HTTP{URL: url}, opts)
		err := c.Ready(ctx)
		if err == nil {
			err = do(ctx, c, given)
		}
		return errors.Join(err, c.Close())
	}
}

func connect(context.Context, *mcp.Client, *Given) error { return nil }

func listTools(ctx context.Context, c *mcp.Client, _ *Given) error {
	_, err := c.Tools(ctx)
	return err
}

// calling lists the tools and calls one of them.
func calling(opts *mcp.ClientOptions, tool, args string) Play {
	return with(opts, func(ctx context.Context, c *mcp.Client, _ *Given) error { return listAndCall(ctx, c, tool, args) })
}

func listAndCall(ctx context.Context, c *mcp.Client, tool, args string) error {
	if _, err := find(ctx, c, tool); err != nil {
		return err
	}
	_, err := c.CallTool(ctx, tool, json.RawMessage(args), nil)
	return err
}

func find(ctx context.Context, c *mcp.Client, tool string) (*mcp.Tool, error) {
	tools, err := c.Tools(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(tools, func(t *mcp.Tool) bool { return t.Name == tool })
	if i < 0 {
		return nil, fmt.Errorf("the server has no tool %q", tool)
	}
	return tools[i], nil
}

// accepting accepts the server's questions with the given content.
func accepting(content map[string]any) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	}
}

// echoSchema sends a tool's input schema back as it was received.
func echoSchema(ctx context.Context, c *mcp.Client, _ *Given) error {
	t, err := find(ctx, c, "json_schema_2020_12_tool")
	if err != nil {
		return err
	}
	args, err := json.Marshal(map[string]json.RawMessage{"schema": t.InputSchema})
	if err != nil {
		return err
	}
	_, err = c.CallTool(ctx, "json_schema_echo", args, nil)
	return err
}

// report calls a tool. The server refuses some calls on purpose, and some of its answers are
// wrong on purpose, so errors are only reported.
func report(ctx context.Context, c *mcp.Client, tool string, args json.RawMessage) {
	if _, err := c.CallTool(ctx, tool, args, nil); err != nil {
		log.Printf("%s: %v", tool, err)
	}
}

// requestState calls tools that answer with a question first.
func requestState(ctx context.Context, c *mcp.Client, _ *Given) error {
	for _, tool := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
		report(ctx, c, tool, json.RawMessage(`{}`))
	}
	return nil
}

// callEveryTool calls each tool that the client lists; those with invalid
// header annotations must not be among them.
func callEveryTool(ctx context.Context, c *mcp.Client, _ *Given) error {
	tools, err := c.Tools(ctx)
	for _, t := range tools {
		report(ctx, c, t.Name, json.RawMessage(`{"region":"us-west1"}`))
	}
	return err
}

// callGiven makes the calls that the suite asks for.
func callGiven(ctx context.Context, c *mcp.Client, given *Given) error {
	_, err := c.Tools(ctx)
	if err == nil {
		for _, call := range given.ToolCalls {
			report(ctx, c, call.Name, call.Arguments)
		}
	}
	return err
}

// withSkills lists the skills of the server, as a program with a host does. It reads all of their files
// only if it is to, and stops at the first that is not what the list says.
func withSkills(reads bool) Play {
	return func(ctx context.Context, url string, _ *Given) error {
		h := host.New(&host.Options{StateDir: host.NoState})
		defer func() { _ = h.Close() }()
		c, err := config.Parse(ctx, "mcp.json", fmt.Appendf(nil, `{"mcpServers": {"conformance": {"url": %q}}}`, url), nil)
		if err == nil {
			_, err = h.Apply(ctx, c)
		}
		if err != nil {
			return err
		}
		catalogue := skills.New(h, nil)
		list := catalogue.List(ctx, nil)
		if err := list.Errors["conformance"]; err != nil || len(list.Items) == 0 {
			return cmp.Or(err, errors.New("no skills"))
		}
		for _, s := range list.Items {
			for i := 0; i < len(s.Files) && reads; i++ {
				if _, err := catalogue.Read(ctx, &s, s.Files[i].Path); err != nil {
					return err
				}
			}
		}
		return nil
	}
}
