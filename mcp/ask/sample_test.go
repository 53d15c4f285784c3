package ask_test

//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/ask"
)

const sample = "sampling/createMessage"

const conversation = `{"maxTokens":7,"systemPrompt":"Be brief","includeContext":"allServers","messages":[
	{"role":"user","content":{"type":"text","text":"Hi\u001b[1m"}},
	{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"look","input":{"at":"x"}}]},
	{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[{"type":"image","data":"AAEC","mimeType":"image/png"}],"structuredContent":{"n":1}}]}],
	"tools":[{"name":"look","inputSchema":{}}]}`

func says(text string) func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) {
	return func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) {
		return &mcp.SampleResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, Model: "m"}, nil
	}
}

func TestConsoleSample(t *testing.T) {
	u := newUser(t)
	asked := make(chan struct{}, 1)
	answer := granted(t, &mcp.ClientOptions{SampleTools: true, Sample: u.console.Sample(func(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
		asked <- struct{}{}
		return says("Hello\x1b[2J")(ctx, r)
	})}, sample, conversation)
	before := u.await(t, "Let the model answer? Type yes or no: ")
	for _, want := range []string{
		`Server "notes" wants your model to answer:`, "instructions:\n  | Be brief", " user:\n  | Hi<U+001B>[1m", `| (uses the tool "look" with {"at":"x"})`,
		"  | (result of a tool)\n  | (an image, image/png, 3 bytes)\n  | {\"n\":1}", `tool "look"`, "more of your data (allServers)", "up to 7 tokens",
	} {
		assert.Contains(t, before, want)
	}
	u.types(t, "ok")
	u.await(t, "Let the model answer? Type yes or no: ")
	assert.Equal(t, len(asked), 0, "the model was asked before the user agreed")
	u.types(t, "y")
	u.await(t, "The model answers what server \"notes\" wanted to know:\n  | Hello<U+001B>[2J")
	u.await(t, `Send this to "notes"? Type yes or no: `)
	assert.Equal(t, len(answer), 0, "the server got the answer before the user agreed")
	u.types(t, "yes")
	assert.Contains(t, <-answer, `"text":"Hello\u001b[2J"`, "the server")
}

func TestConsoleSampleRejected(t *testing.T) {
	for _, test := range []struct {
		lines string
		asked bool
	}{{"no", false}, {"/cancel", false}, {"", false}, {"yes\nno", true}, {"yes\n/decline", true}, {"yes\n", true}} {
		asked := false
		c := &ask.Console{In: strings.NewReader(test.lines), Out: &screen{}}
		_, err := c.Sample(func(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
			asked = true
			return says("Hello")(ctx, r)
		})(t.Context(), &mcp.SampleRequest{})
		assert.Is(t, err, mcp.ErrRejected, "%q", test.lines)
		assert.Equal(t, asked, test.asked, "%q: asked", test.lines)
	}
}

func TestSampleModelFails(t *testing.T) {
	errModel := errors.New("overloaded")
	for _, model := range []func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error){
		func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) { return nil, errModel },
		func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) { return nil, nil },
	} {
		c := &ask.Console{In: strings.NewReader("yes\nyes\n"), Out: &screen{}}
		_, err := c.Sample(model)(t.Context(), &mcp.SampleRequest{})
		assert.False(t, err == nil || errors.Is(err, mcp.ErrRejected), "error %v", err)
	}
}

// Without a model the user answers.
func TestSampleByHand(t *testing.T) {
	for lines, want := range map[string]string{"Hello\n": "Hello", "/decline\n": ""} {
		c := &ask.Console{In: strings.NewReader(lines), Out: &screen{}}
		res, err := c.Sample(nil)(t.Context(), &mcp.SampleRequest{})
		if want == "" {
			assert.Is(t, err, mcp.ErrRejected)
			continue
		}
		assert.OK(t, err)
		assert.Equal(t, assert.Only(t, res.Content).(*mcp.TextContent).Text, want)
	}
}
