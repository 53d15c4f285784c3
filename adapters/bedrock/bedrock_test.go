package bedrock_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/bedrock"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	claude  = "us.anthropic.claude-sonnet-4-6"
	mistral = "mistral.mistral-large-3-675b-instruct"
)

// newClient returns a client of the SDK for an endpoint.
func newClient(t *testing.T, url string) *bedrockruntime.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return bedrockruntime.New(bedrockruntime.Options{
		BaseEndpoint: &url, Region: "us-east-1", RetryMaxAttempts: 1,
		HTTPClient: &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
		}),
	})
}

// A conversation is a loop as users of the SDK write it.
type conversation struct {
	client   *bedrockruntime.Client
	registry *registry.Registry
	model    string
	stream   bool
	opts     *belt.Options
	messages []types.Message

	turn    *belt.Turn // of the request that was answered last
	waiting *profile.WaitingError
}

func start(model string, stream bool, opts *belt.Options) func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
	return func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
		return &conversation{client: newClient(t, url), registry: r, model: model, stream: stream, opts: opts}
	}
}

func (c *conversation) Ask(ctx context.Context, message string) (*adaptertest.Turn, error) {
	c.messages = belt.Append(c.messages, ofUser(message))
	return c.run(ctx)
}

func (c *conversation) run(ctx context.Context) (*adaptertest.Turn, error) {
	for {
		turn, err := belt.Tools(ctx, c.registry, c.opts)
		if err != nil {
			return nil, err
		}
		c.turn = turn
		out, err := c.converse(ctx, turn.Config(c.messages))
		if err != nil {
			return nil, err
		}
		message := belt.Message(out)
		c.messages = belt.Append(c.messages, message)
		results, err := turn.Run(ctx, out)
		c.messages = belt.Append(c.messages, results...)
		switch {
		case errors.As(err, &c.waiting):
			return adaptertest.Waiting(c.waiting), nil
		case err != nil:
			return nil, err
		case results == nil:
			return &adaptertest.Turn{Text: message.Content[0].(*types.ContentBlockMemberText).Value}, nil
		}
	}
}

func (c *conversation) converse(ctx context.Context, config *types.ToolConfiguration) (*bedrockruntime.ConverseOutput, error) {
	if !c.stream {
		return c.client.Converse(ctx, &bedrockruntime.ConverseInput{ModelId: &c.model, Messages: c.messages, ToolConfig: config})
	}
	out, err := c.client.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: &c.model, Messages: c.messages, ToolConfig: config})
	if err != nil {
		return nil, err
	}
	return belt.Collect(out.GetStream(), nil)
}

func (c *conversation) Resume(ctx context.Context) (*adaptertest.Turn, error) {
	answers, err := c.turn.Wait(ctx, c.waiting)
	if err != nil {
		return nil, err
	}
	c.messages = belt.Append(c.messages, c.turn.Results(answers...)...)
	return c.run(ctx)
}

func TestConverse(t *testing.T) {
	//report: Models | langgenius/dify#17545, vxcontrol/pentagi#196, onyx-dot-app/onyx#7842, vercel/ai#7537, aws-samples/bedrock-access-gateway#239 | Bedrock wants tools in a request whose conversation has calls, also if there are none any more | one tool says that there are none
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "bedrock", Runtime: "Converse", Framework: "github.com/aws/aws-sdk-go-v2/service/bedrockruntime",
		Wire: adaptertest.Bedrock{}, Start: start(claude, false, &belt.Options{Model: claude}), Interrupt: "`WaitingError`",
	})
}

func TestConverseStream(t *testing.T) {
	adaptertest.Test(t, adaptertest.Adapter{
		Name: "bedrock", Runtime: "ConverseStream", Framework: "github.com/aws/aws-sdk-go-v2/service/bedrockruntime",
		Wire: adaptertest.Bedrock{}, Start: start(mistral, true, nil), Interrupt: "`WaitingError`",
	})
}
