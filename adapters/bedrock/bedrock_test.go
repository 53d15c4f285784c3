package bedrock_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/bedrock"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/registry"
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

// start starts a loop as users of the SDK write it.
func start(model string, stream bool, opts *belt.Options) func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
	return func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent {
		client := newClient(t, url)
		return &adaptertest.Loop[types.Message, *bedrockruntime.ConverseOutput, *belt.Turn]{
			Append: belt.Append, Message: belt.Message, User: ofUser,
			Tools: func(ctx context.Context) (*belt.Turn, error) { return belt.Tools(ctx, r, opts) },
			Text: func(out *bedrockruntime.ConverseOutput) string {
				return belt.Message(out).Content[0].(*types.ContentBlockMemberText).Value
			},
			Send: func(ctx context.Context, turn *belt.Turn, messages []types.Message) (*bedrockruntime.ConverseOutput, error) {
				config := turn.Config(messages)
				if !stream {
					return client.Converse(ctx, &bedrockruntime.ConverseInput{ModelId: &model, Messages: messages, ToolConfig: config})
				}
				out, err := client.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: &model, Messages: messages, ToolConfig: config})
				if err != nil {
					return nil, err
				}
				return belt.Collect(out.GetStream(), nil)
			},
		}
	}
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
