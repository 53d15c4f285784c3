//lint:file-ignore SA1019 Sampling is deprecated since revision 2026-07-28, and works.

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
)

// TestQuestionsNameTheirUser: what the server of a user asks by requests of its own is
// asked of that user.
func TestQuestionsNameTheirUser(t *testing.T) {
	questions := [][2]string{
		{"elicitation/create", `{"message":"Who?","requestedSchema":{"type":"object","properties":{"who":{"type":"string"}}}}`},
		{"elicitation/create", `{"mode":"url","message":"Visit","url":"https://a.example/","elicitationId":"1"}`},
		{"sampling/createMessage", `{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"Who?"}}]}`},
	}
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{"tools":{}}`), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}`),
		"tools/call": func(c *mcptest.Call) {
			var answers []string
			for _, question := range questions {
				answer, err := c.Ask(question[0], question[1])
				if err != nil {
					t.Errorf("%s: %v", question[0], err)
				}
				answers = append(answers, string(answer))
			}
			text, _ := json.Marshal(strings.Join(answers, "\n"))
			c.Result(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
		},
	})
	of := func(ctx context.Context) string {
		user, _ := session.UserOf(ctx)
		return "I am " + user
	}
	visits := make(chan string, 2)
	opts := &host.Options{
		StateDir:  host.NoState,
		Transport: func(session.Key, *config.Server) (mcp.Transport, error) { return server, nil },
		Client: mcp.ClientOptions{
			Elicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"who": of(ctx)}}, nil
			},
			ElicitURL: func(ctx context.Context, _ *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
				visits <- of(ctx)
				return &mcp.ElicitResult{Action: "decline"}, nil
			},
			Sample: func(ctx context.Context, _ *mcp.SampleRequest) (*mcp.SampleResult, error) {
				return &mcp.SampleResult{Model: "m", Role: "assistant", Content: []mcp.Content{&mcp.TextContent{Text: of(ctx)}}}, nil
			},
		},
	}
	h := acceptNew(t, opts, acceptFor(config.IdentityUser, acceptParse(t, "s", `{"command": "x"}`)))
	assert.OK(t, h.Discover(watchdog(t), session.Key{User: "ann", Server: "s"}))
	for _, user := range []string{"ann", "ben"} {
		res := assert.Value(h.Registry().Call(session.WithUser(watchdog(t), user), "s__ask", nil))(t)
		assert.Equal(t, strings.Count(result.Text(res), fmt.Sprintf(`"I am %s"`, user)), 2, "of 2 answers as %s: %s", user, result.Text(res))
		assert.Equal(t, <-visits, "I am "+user, "a visit as")
	}
}
