package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"slices"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Play acts the client's part of a scenario.
type Play func(ctx context.Context, url string, given *Given) error

// scenario returns the play with the name, or nil.
func scenario(name string) Play {
	switch name {
	case "initialize", "json-schema-ref-no-deref":
		return listTools
	case "request-metadata":
		return connect
	case "tools_call":
		return calling("add_numbers", `{"a":5,"b":3}`)
	case "sse-retry":
		return calling("test_reconnection", `{}`)
	case "elicitation-sep1034-client-defaults":
		return elicitDefaults
	case "json-schema-2020-12-preservation":
		return echoSchema
	case "sep-2322-client-request-state":
		return requestState
	case "http-standard-headers", "http-invalid-tool-headers":
		return callEveryTool
	case "http-custom-headers":
		return callGiven
	case "sep-2640-client-no-prefetch":
		return listSkills
	case "sep-2640-client-verify-digest", "sep-2640-client-verify-frontmatter", "sep-2640-client-verify-size":
		return loadSkills
	case "auth/2025-03-26-oauth-endpoint-fallback",
		"auth/2025-03-26-oauth-metadata-backcompat",
		"auth/authorization-server-migration",
		"auth/basic-cimd",
		"auth/iss-normalized",
		"auth/iss-not-advertised",
		"auth/iss-supported",
		"auth/iss-supported-missing",
		"auth/iss-unexpected",
		"auth/iss-wrong-issuer",
		"auth/metadata-default",
		"auth/metadata-issuer-mismatch",
		"auth/metadata-var1",
		"auth/metadata-var2",
		"auth/metadata-var3",
		"auth/offline-access-not-supported",
		"auth/offline-access-scope",
		"auth/pre-registration",
		"auth/resource-mismatch",
		"auth/scope-from-scopes-supported",
		"auth/scope-from-www-authenticate",
		"auth/scope-omitted-when-undefined",
		"auth/scope-retry-limit",
		"auth/scope-step-up",
		"auth/token-endpoint-auth-basic",
		"auth/token-endpoint-auth-none",
		"auth/token-endpoint-auth-post":
		return loggingIn(authorizationCode)
	case "auth/dpop", "auth/dpop-nonce":
		return loggingIn(withDPoP)
	case "auth/client-credentials-basic", "auth/client-credentials-jwt":
		return loggingIn(clientCredentials)
	case "auth/enterprise-managed-authorization":
		return loggingIn(enterprise)
	case "auth/wif-jwt-bearer":
		return loggingIn(workload)
	}
	return nil
}

func connect(ctx context.Context, url string, _ *Given) error {
	return with(ctx, plain(url), nil, func(*mcp.Client) error { return nil })
}

func listTools(ctx context.Context, url string, _ *Given) error {
	return with(ctx, plain(url), nil, func(c *mcp.Client) error {
		_, err := c.Tools(ctx)
		return err
	})
}

// calling lists the tools and calls one of them.
func calling(tool, args string) Play {
	return func(ctx context.Context, url string, _ *Given) error {
		return with(ctx, plain(url), nil, func(c *mcp.Client) error {
			return listAndCall(ctx, c, tool, args)
		})
	}
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

// elicitDefaults accepts the server's question with nothing filled in: the
// defaults of the question's schema are to be sent.
func elicitDefaults(ctx context.Context, url string, _ *Given) error {
	opts := &mcp.ClientOptions{
		Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	}
	return with(ctx, plain(url), opts, func(c *mcp.Client) error {
		return listAndCall(ctx, c, "test_client_elicitation_defaults", `{}`)
	})
}

// echoSchema sends a tool's input schema back as it was received.
func echoSchema(ctx context.Context, url string, _ *Given) error {
	return with(ctx, plain(url), nil, func(c *mcp.Client) error {
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
	})
}

// requestState calls tools that answer with a question first. Some of their
// answers are wrong on purpose, so errors are only reported.
func requestState(ctx context.Context, url string, _ *Given) error {
	opts := &mcp.ClientOptions{
		Elicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirmed": true}}, nil
		},
	}
	return with(ctx, plain(url), opts, func(c *mcp.Client) error {
		for _, tool := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
			if _, err := c.CallTool(ctx, tool, json.RawMessage(`{}`), nil); err != nil {
				log.Printf("%s: %v", tool, err)
			}
		}
		return nil
	})
}

// callEveryTool calls each tool that the client lists; those with invalid
// header annotations must not be among them.
func callEveryTool(ctx context.Context, url string, _ *Given) error {
	return with(ctx, plain(url), nil, func(c *mcp.Client) error {
		tools, err := c.Tools(ctx)
		if err != nil {
			return err
		}
		for _, t := range tools {
			if _, err := c.CallTool(ctx, t.Name, json.RawMessage(`{"region":"us-west1"}`), nil); err != nil {
				log.Printf("%s: %v", t.Name, err)
			}
		}
		return nil
	})
}

// callGiven makes the calls that the suite asks for; some are refused by the
// server on purpose.
func callGiven(ctx context.Context, url string, given *Given) error {
	return with(ctx, plain(url), nil, func(c *mcp.Client) error {
		if _, err := c.Tools(ctx); err != nil {
			return err
		}
		for _, call := range given.ToolCalls {
			if _, err := c.CallTool(ctx, call.Name, call.Arguments, nil); err != nil {
				log.Printf("%s: %v", call.Name, err)
			}
		}
		return nil
	})
}
