package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	deadline = 25 * time.Second
	// hardDeadline ends the program even if the library ignores its context.
	// It is below the suite's own limit of 30 s.
	hardDeadline = deadline + 3*time.Second
)

func main() {
	watchdog := time.AfterFunc(hardDeadline, func() {
		fmt.Fprintln(os.Stderr, "client: still running after its deadline")
		os.Exit(3)
	})
	defer watchdog.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	err := run(ctx, os.Args[1:], os.Getenv)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// run plays the scenario that the environment names against the server whose
// URL is the only argument.
func run(ctx context.Context, args []string, getenv func(string) string) error {
	if len(args) != 1 {
		return errors.New("usage: client SERVER-URL")
	}
	name := getenv("MCP_CONFORMANCE_SCENARIO")
	play := scenario(name)
	if play == nil {
		return fmt.Errorf("unknown scenario %q", name)
	}
	var given Given
	if text := getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	if err := play(ctx, args[0], &given); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Given is what the suite gives to the client of some scenarios.
type Given struct {
	Issuer           string `json:"issuer"`
	ClientID         string `json:"client_id"`
	ClientSecret     string `json:"client_secret"`
	PrivateKey       string `json:"private_key_pem"`
	Algorithm        string `json:"signing_algorithm"`
	IdPIssuer        string `json:"idp_issuer"`
	IdPTokenEndpoint string `json:"idp_token_endpoint"`
	IdPClientID      string `json:"idp_client_id"`
	IdPToken         string `json:"idp_id_token"`
	JWT              string `json:"valid_jwt"`
	ToolCalls        []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

func newClient(t mcp.Transport, opts *mcp.ClientOptions) *mcp.Client {
	var o mcp.ClientOptions
	if opts != nil {
		o = *opts
	}
	o.Implementation = &mcp.Implementation{Name: "mcpbelt-conformance", Version: "1"}
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	return mcp.NewClient("conformance", t, &o)
}
