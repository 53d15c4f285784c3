package langchaingo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/bedrock"
	"github.com/tmc/langchaingo/llms/googleai"
	"github.com/tmc/langchaingo/llms/openai"
	"go.uber.org/goleak"
	"google.golang.org/api/option"

	belt "github.com/mcpbelt/mcpbelt/adapters/langchaingo"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestMain(m *testing.M) {
	// googleai does not close the connection of its client for caches.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run"),
		goleak.IgnoreAnyFunction("google.golang.org/grpc.(*addrConn).connect"), goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func newModel(t *testing.T, url string) *openai.LLM {
	t.Helper()
	return assert.Value(openai.New(openai.WithBaseURL(url), openai.WithToken("key"), openai.WithModel("scripted")))(t)
}

// A conversation is a loop around a model as users of langchaingo write it.
type conversation struct {
	llm      llms.Model
	registry *registry.Registry
	opts     *belt.Options
	stream   bool
	messages []llms.MessageContent

	turn     *belt.Turn // of the response
	response *llms.ContentResponse
	waiting  *profile.WaitingError
}

func (c *conversation) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	c.messages = append(c.messages, llms.TextParts(llms.ChatMessageTypeHuman, message))
	return c.run(ctx)
}

func (c *conversation) run(ctx context.Context) (*adaptertest.Turn, error) {
	for {
		turn, err := belt.Tools(ctx, c.registry, c.opts)
		if err != nil {
			return nil, err
		}
		opts := []llms.CallOption{llms.WithTools(turn.Params(c.messages...))}
		if c.stream {
			opts = append(opts, llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))
		}
		c.messages = turn.Append(c.messages)
		response, err := c.llm.GenerateContent(ctx, c.messages, opts...)
		if err != nil {
			return nil, err
		}
		c.turn, c.response = turn, response
		messages, err := turn.Run(ctx, response)
		c.messages = append(c.messages, messages...)
		switch {
		case errors.As(err, &c.waiting):
			return adaptertest.Waiting(c.waiting), nil
		case err != nil:
			return nil, err
		case messages == nil:
			text := response.Choices[0].Content
			c.messages = append(c.messages, llms.TextParts(llms.ChatMessageTypeAI, text))
			return &adaptertest.Turn{Text: text}, nil
		}
	}
}

func (c *conversation) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	answers, err := c.turn.Wait(ctx, c.waiting)
	if err != nil {
		return nil, err
	}
	c.messages = append(c.messages, c.turn.Messages(c.response, answers...)...)
	return c.run(ctx)
}

const noThoughts = "langchaingo's message has no place for what a model thought"

func TestGenerateContent(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "langchaingo", Runtime: "GenerateContent", Framework: "github.com/tmc/langchaingo",
		Wire: adaptertest.OpenAIChat{}, Interrupt: "`WaitingError`", Without: map[string]string{"thoughts": noThoughts},
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return &conversation{llm: newModel(t, url), registry: r}
		},
	})
}

func TestAnthropic(t *testing.T) {
	//report: Models | langchain-ai/langchain#33390, cecli-dev/cecli#102, AnswerDotAI/fastllm#44 | Claude ends with a message that has no content, and the framework sends it back as an empty text, which the API refuses | such messages, and blank texts, are left out
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "langchaingo", Runtime: "Anthropic", Framework: "github.com/tmc/langchaingo",
		Wire: adaptertest.Anthropic{}, Interrupt: "`WaitingError`", Without: map[string]string{"thoughts": noThoughts},
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			llm := assert.Value(anthropic.New(anthropic.WithBaseURL(url+"/v1"), anthropic.WithToken("key"), anthropic.WithModel("scripted")))(t)
			return &conversation{llm: llm, registry: r, opts: &belt.Options{Provider: profile.Anthropic}}
		},
	})
}

// A listed wire is one of Gemini's whose streams are lists, which googleai reads for conversations.
type listed struct{ adaptertest.Gemini }

func (w listed) Read(r *http.Request, body []byte) (*adaptertest.Request, error) {
	whole := strings.HasSuffix(r.URL.Path, ":generateContent")
	r.URL.Path = strings.Replace(r.URL.Path, ":streamGenerate", ":generate", 1)
	req, err := w.Gemini.Read(r, body)
	if err == nil {
		req.Stream = !whole
	}
	return req, err
}

func (w listed) Write(rw http.ResponseWriter, req *adaptertest.Request, reply adaptertest.Reply) {
	rec := httptest.NewRecorder()
	w.Gemini.Write(rec, &adaptertest.Request{}, reply)
	answer := rec.Body.String()
	if req.Stream {
		answer = "[" + answer + "]"
	}
	_, _ = fmt.Fprint(rw, answer)
}

func newGoogleAI(t *testing.T, url string) llms.Model {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	llm := assert.Value(googleai.New(t.Context(), googleai.WithAPIKey("key"), googleai.WithHTTPClient(client),
		func(o *googleai.Options) { o.ClientOptions = append(o.ClientOptions, option.WithEndpoint(url)) }))(t)
	t.Cleanup(func() { _ = llm.Close() })
	return llm
}

func newBedrock(t *testing.T, url string) llms.Model {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return assert.Value(bedrock.New(bedrock.WithModel("anthropic.claude"), bedrock.WithClient(bedrockruntime.New(bedrockruntime.Options{
		Region: "eu-west-1", BaseEndpoint: &url, HTTPClient: client,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
		}),
	}))))(t)
}

// TestGoogleAIAndBedrock has the packages whose conversations have forms of their own.
func TestGoogleAIAndBedrock(t *testing.T) {
	for _, a := range []adaptertest.Adapter{
		//report: Models | google-gemini/gemini-cli#5443, davidmigloz/langchain_dart#757, cloudwego/eino-ext#571 | a framework makes a message of each result, and Gemini refuses the conversation for good after calls made at the same time | the results of one message go back together
		{Runtime: "GoogleAI", Wire: listed{adaptertest.Gemini{Before3: true, Older: true}}, Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return &conversation{llm: newGoogleAI(t, url), registry: r, opts: &belt.Options{Provider: profile.Gemini}}
		}},
		{Runtime: "Bedrock", Wire: adaptertest.InvokeModel{}, Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return &conversation{llm: newBedrock(t, url), registry: r, opts: &belt.Options{Provider: profile.Bedrock}}
		}},
	} {
		t.Run(a.Runtime, func(t *testing.T) {
			a.Name, a.Framework, a.Interrupt = "langchaingo", "github.com/tmc/langchaingo", "`WaitingError`"
			a.Without = map[string]string{"thoughts": noThoughts}
			if a.Runtime == "GoogleAI" {
				a.Without["argument texts"] = "googleai cannot read an answer with half a surrogate pair, and returns an error"
			}
			adaptertest.Test(t, a)
		})
	}
}

// The converters of langchaingo's packages make of a schema what they will: the API takes it,
// the model can fill it, and the server gets that.
func TestProviders(t *testing.T) {
	const args = `{"days":3,"marks":[1,2],"mode":"fast"}`
	for _, test := range []struct {
		provider profile.Provider
		wire     adaptertest.Wire
		llm      func(t *testing.T, url string) (llms.Model, error)
	}{
		{profile.OpenAI, adaptertest.OpenAIChat{}, func(_ *testing.T, url string) (llms.Model, error) {
			return openai.New(openai.WithBaseURL(url), openai.WithToken("key"), openai.WithModel("scripted"))
		}},
		{profile.Anthropic, adaptertest.Anthropic{}, func(_ *testing.T, url string) (llms.Model, error) {
			return anthropic.New(anthropic.WithBaseURL(url+"/v1"), anthropic.WithToken("key"), anthropic.WithModel("scripted"))
		}},
		{profile.Gemini, listed{adaptertest.Gemini{Before3: true, Older: true}}, func(t *testing.T, url string) (llms.Model, error) { return newGoogleAI(t, url), nil }},
		{profile.Bedrock, adaptertest.InvokeModel{}, func(t *testing.T, url string) (llms.Model, error) { return newBedrock(t, url), nil }},
	} {
		t.Run(string(test.provider), func(t *testing.T) {
			model := adaptertest.NewModel(t, test.wire)
			llm := assert.Value(test.llm(t, model.URL))(t)
			r := newRegistry(t, nil, raw{"look", "", `{"type":"object","properties":{
				"days":{"anyOf":[{"type":"integer"},{"type":"null"}]},"marks":{"type":["array","null"],"items":{"type":["integer","null"]}},
				"mode":{"enum":["fast","slow"]},"free":{}},"required":["days","mode"]}`})
			var got string
			r.Observe(func(_ context.Context, o *registry.Observation) { got = fmt.Sprint(string(o.Arguments), o.Err) })
			model.Then(func(req *adaptertest.Request) adaptertest.Reply {
				assert.Contains(t, string(req.Tools[0].Schema), `"integer"`, "the model is told")
				return adaptertest.Reply{Calls: []adaptertest.Call{call("call_1", req.Tools[0].Name, args)}}
			}, func(*adaptertest.Request) adaptertest.Reply { return adaptertest.Reply{Text: "done"} })
			c := &conversation{llm: llm, registry: r, opts: &belt.Options{Provider: test.provider}}
			assert.Equal(t, assert.Value(c.Ask(t.Context(), "look"))(t).Text, "done")
			assert.Equal(t, got, args+"<nil>", "the tool got")
		})
	}
}

// In a stream, langchaingo makes a call of a piece that has no arguments. The API refuses a
// conversation with a call that has no name.
func TestStreamWithEmptyPieces(t *testing.T) {
	r := newRegistry(t, nil, raw{"none", "", none})
	replies := []adaptertest.Reply{{Calls: []adaptertest.Call{call("a", "none", ``), call("b", "none", ``)}}, {Text: "done"}}
	llm, model := scripted(t, replies...)
	c := &conversation{llm: llm, registry: r, stream: true}
	if turn, err := c.Ask(t.Context(), "go"); err != nil || turn.Text != "done" || len(model.Refused()) > 0 || roles(c.messages[1:]) != "ai(ToolCall ToolCall) tool(ToolCallResponse) tool(ToolCallResponse) ai(TextContent)" {
		t.Errorf("%+v, %v, refused %q: %s", turn, err, model.Refused(), roles(c.messages))
	}
	llm, model = scripted(t, replies...)
	turn := assert.Value(belt.Tools(t.Context(), r, nil))(t)
	agent := agents.NewOpenAIFunctionsAgent(turn.Model(streaming{llm}), turn.AgentTools())
	if got, err := chains.Run(t.Context(), agents.NewExecutor(agent), "go"); err != nil || got != "done" || len(model.Refused()) > 0 {
		t.Errorf("%q, %v, refused %q", got, err, model.Refused())
	}
}

// What comes behind such a piece is of the call before.
func TestPiecesOfCalls(t *testing.T) {
	turn := newTurn(t, profile.OpenAI, raw{"one", "", one})
	pieces := []llms.ToolCall{toolCall("", "", "lost"), toolCall("1", "one", `{"ci`), toolCall("", "", ""), toolCall("", "", `ty":"a"}`), {}, toolCall("", "", "lost"), toolCall("2", "one", "{}"), toolCall("3", "", "{}")}
	var got []string
	for range 2 { // the response does not change
		got = nil
		for _, c := range turn.Calls(&llms.ContentResponse{Choices: []*llms.ContentChoice{{ToolCalls: pieces, StopReason: "stop"}}}) {
			got = append(got, c.ID+c.Name+string(c.Arguments))
		}
	}
	assert.List(t, got, []string{"call_0lost", `1one{"city":"a"}`, "call_2lost", "2one{}", "3{}"})
}

// A streaming model answers an agent in pieces.
type streaming struct{ llms.Model }

func (s streaming) GenerateContent(ctx context.Context, messages []llms.MessageContent, opts ...llms.CallOption) (*llms.ContentResponse, error) {
	return s.Model.GenerateContent(ctx, messages, append(opts, llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))...)
}

func TestStream(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "langchaingo", Runtime: "Stream", Framework: "github.com/tmc/langchaingo",
		Wire: adaptertest.OpenAIChat{}, Interrupt: "`WaitingError`", Without: map[string]string{"thoughts": noThoughts},
		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
			return &conversation{llm: newModel(t, url), registry: r, stream: true}
		},
	})
}
