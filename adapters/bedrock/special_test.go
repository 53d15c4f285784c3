package bedrock_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	belt "github.com/mcpbelt/mcpbelt/adapters/bedrock"
	"github.com/mcpbelt/mcpbelt/internal/adaptertest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A tool takes what it is given, and returns what it is told.
type tool struct {
	schema string
	result *mcp.CallToolResult

	mu  sync.Mutex
	got []string
}

func (t *tool) Definition() *registry.Definition {
	return &registry.Definition{Name: "tool", Description: "does it", InputSchema: json.RawMessage(t.schema)}
}

func (t *tool) Call(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.got = append(t.got, string(args))
	return t.result, nil
}

const anything = `{"type":"object","properties":{}}`

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// registryOf returns a registry with one tool. A definition has to stay the same.
func registryOf(t *testing.T, made *tool) *registry.Registry {
	t.Helper()
	if made.result == nil {
		made.result = text("done")
	}
	r := registry.New(nil)
	assert.OK(t, r.Add(&fixed{made, made.Definition()}))
	return r
}

type fixed struct {
	*tool
	definition *registry.Definition
}

func (f *fixed) Definition() *registry.Definition { return f.definition }

func turnOf(t *testing.T, r *registry.Registry, opts *belt.Options) *belt.Turn {
	t.Helper()
	return assert.Value(belt.Tools(t.Context(), r, opts))(t)
}

func answerOf(blocks ...types.ContentBlock) *bedrockruntime.ConverseOutput {
	return &bedrockruntime.ConverseOutput{Output: &types.ConverseOutputMemberMessage{
		Value: types.Message{Role: types.ConversationRoleAssistant, Content: blocks},
	}}
}

func use(id, name string, input document.Interface) types.ContentBlock {
	return &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{ToolUseId: aws.String(id), Name: aws.String(name), Input: input}}
}

func said(s string) types.ContentBlock { return &types.ContentBlockMemberText{Value: s} }

func ofUser(s string) types.Message {
	return types.Message{Role: types.ConversationRoleUser, Content: []types.ContentBlock{said(s)}}
}

// exchange sends a request, answers it, and returns both as they are on the wire.
func exchange(t *testing.T, answer string, messages []types.Message, config *types.ToolConfiguration) (string, *bedrockruntime.ConverseOutput) {
	t.Helper()
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	out := assert.Value(newClient(t, server.URL).Converse(t.Context(), &bedrockruntime.ConverseInput{ModelId: aws.String(claude), Messages: messages, ToolConfig: config}))(t)
	return sent, out
}

const nothing = `{"output":{"message":{"role":"assistant","content":[{"text":"done"}]}},"stopReason":"end_turn"}`

func TestSchemaGoesOutByteByByte(t *testing.T) {
	made := &tool{schema: `{"type":"object","properties":{"zeta":{"type":"integer","maximum":9223372036854775807},"alpha":{"type":"object","properties":{"":{"type":"number","const":1.10}}}},"required":["zeta"]}`}
	turn := turnOf(t, registryOf(t, made), nil)
	sent, _ := exchange(t, nothing, []types.Message{ofUser("hi")}, turn.Config(nil))
	want := string(turn.Set().Tools()[0].Schema)
	assert.Contains(t, sent, want, "sent")
	assert.Contains(t, want, "9223372036854775807", "sent %s, which does not have", sent)
	assert.Contains(t, want, `"zeta":{"type":"integer"`, "sent %s, which does not have", sent)
}

func TestSchemaReadsAsDocument(t *testing.T) {
	turn := turnOf(t, registryOf(t, &tool{schema: `{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}`}), nil)
	spec := turn.Config(nil).Tools[0].(*types.ToolMemberToolSpec).Value
	var schema struct {
		Properties map[string]struct {
			Maximum int64 `document:"maximum"`
		} `document:"properties"`
	}
	if err := spec.InputSchema.(*types.ToolInputSchemaMemberJson).Value.UnmarshalSmithyDocument(&schema); err != nil || schema.Properties["n"].Maximum != 9007199254740993 {
		t.Errorf("read %+v, %v", schema, err)
	}
}

func TestArgumentsKeepTheirDigits(t *testing.T) {
	made := &tool{schema: anything}
	turn := turnOf(t, registryOf(t, made), nil)
	_, out := exchange(t, `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"tool",
		"input":{"big":12345678901234567890123,"exact":1.10,"small":1e-400,"t":"<&>"}}}]}},"stopReason":"tool_use"}`, []types.Message{ofUser("hi")}, turn.Config(nil))
	results := assert.Value(turn.Run(t.Context(), out))(t)
	for _, part := range []string{`"big":12345678901234567890123`, `"exact":1.10`, `"small":1e-400`} {
		assert.Contains(t, assert.Only(t, made.got), part, "the tool")
	}
	sent, _ := exchange(t, nothing, append([]types.Message{ofUser("hi"), belt.Message(out)}, results...), turn.Config(nil))
	assert.Contains(t, sent, `"big":12345678901234567890123`, "the model is told")
	assert.Lacks(t, sent, `"12345678901234567890123"`, "the model is told")
}

// accepted sends a conversation to the model as strict as Bedrock.
func accepted(t *testing.T, model string, messages []types.Message, config *types.ToolConfiguration) *adaptertest.Request {
	t.Helper()
	m := adaptertest.NewModel(t, adaptertest.Bedrock{})
	m.Then(func(*adaptertest.Request) adaptertest.Reply { return adaptertest.Reply{Text: "done"} })
	assert.Value(newClient(t, m.URL).Converse(t.Context(), &bedrockruntime.ConverseInput{ModelId: &model, Messages: messages, ToolConfig: config}))(t)
	return m.Requests()[0]
}

func TestMessageCanBeSentBack(t *testing.T) {
	turn := turnOf(t, registryOf(t, &tool{schema: anything}), nil)
	out := answerOf(said(" \n"), use("a", "$READ FILE<|x|>", nil), use("b", "", document.NewLazyDocument([]int{1})),
		use("c", strings.Repeat("x", 99), document.NewLazyDocument(map[string]any{"": 1})))
	message := belt.Message(out)
	results := assert.Value(turn.Run(t.Context(), out))(t)
	req := accepted(t, claude, append([]types.Message{ofUser("hi"), message}, results...), turn.Config(nil))
	assert.False(t, len(req.Results) != 3 || !strings.Contains(req.Results[0].Text, "READ FILE"), "the results are %+v", req.Results)
	assert.Equal(t, aws.ToString(out.Output.(*types.ConverseOutputMemberMessage).Value.Content[1].(*types.ContentBlockMemberToolUse).Value.Name), "$READ FILE<|x|>", "the answer of the model was changed")
	for _, empty := range []*bedrockruntime.ConverseOutput{nil, {}, answerOf(), answerOf(said(""))} {
		accepted(t, claude, []types.Message{ofUser("hi"), belt.Message(empty), ofUser("and?")}, nil)
		if results, err := turn.Run(t.Context(), empty); results != nil || err != nil {
			t.Errorf("without calls Run returned %v, %v", results, err)
		}
	}
}

func TestConfigWithoutTools(t *testing.T) {
	turn := turnOf(t, registry.New(nil), nil)
	out := answerOf(use("a", "gone", nil))
	results := assert.Value(turn.Run(t.Context(), out))(t)
	messages := append([]types.Message{ofUser("hi"), belt.Message(out)}, results...)
	accepted(t, claude, messages, turn.Config(messages))
	if config := turn.Config(messages[:1]); config != nil {
		t.Errorf("without tools and calls the configuration is %+v", config)
	}
	accepted(t, claude, messages[:1], turn.Config(messages[:1]))
}

func TestToolWithoutDescription(t *testing.T) {
	bare := &tool{schema: anything, result: text("done")}
	definition := bare.Definition()
	definition.Description = ""
	r := registry.New(nil)
	assert.OK(t, r.Add(&fixed{bare, definition}))
	accepted(t, claude, []types.Message{ofUser("hi")}, turnOf(t, r, nil).Config(nil))
}

func TestServersOwnToolsAreNotCalled(t *testing.T) {
	made := &tool{schema: anything}
	out := answerOf(&types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{ToolUseId: aws.String("a"), Name: aws.String("tool"), Type: types.ToolUseTypeServerToolUse}})
	if results, err := turnOf(t, registryOf(t, made), nil).Run(t.Context(), out); results != nil || err != nil || made.got != nil {
		t.Errorf("Run returned %v, %v; the tool got %q", results, err, made.got)
	}
}

var (
	png, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	pdf    = []byte("%PDF-1.7 a plan")
)

func media() *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "look:"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a__b.pdf", MIMEType: "application/pdf", Blob: pdf}},
		&mcp.ImageContent{MIMEType: "image/png", Data: png},
	}}
}

func TestMediaByModel(t *testing.T) {
	for _, c := range []struct {
		name, model string
		opts        *belt.Options
		in, behind  int
	}{
		{"claude", claude, &belt.Options{Model: claude}, 1, 1},
		{"nova", "eu.amazon.nova-pro-v1:0", &belt.Options{Model: "eu.amazon.nova-pro-v1:0"}, 1, 1},
		{"other", mistral, &belt.Options{Model: mistral}, 0, 2},
		{"unknown", claude, nil, 0, 2},
		{"text", mistral, &belt.Options{Turn: profile.TurnOptions{TextOnly: true}}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			turn := turnOf(t, registryOf(t, &tool{schema: anything, result: media()}), c.opts)
			messages := []types.Message{ofUser("hi")}
			for _, id := range []string{"tooluse_A-b_1", "tooluse_A-b_2"} { // names of documents are unique in the conversation
				out := answerOf(use(id, "tool", nil), use(id+"x", "tool", nil))
				results := assert.Value(turn.Run(t.Context(), out))(t)
				if alone := strings.HasPrefix(scriptOf(results), "u:"+id+id+"x m:- u:"); alone != (c.in == 0 && c.behind > 0) || !alone && len(results) != 1 {
					t.Errorf("the results are %s", scriptOf(results))
				}
				messages = belt.Append(belt.Append(messages, belt.Message(out)), results...)
			}
			messages = belt.Append(messages, ofUser("and?"))
			req := accepted(t, c.model, messages, turn.Config(messages))
			in := 0
			for _, r := range req.Results {
				in += len(r.Media)
				assert.Contains(t, r.Text, "look:\n[binary application/pdf, 15 bytes", "the text")
			}
			assert.False(t, in != 4*c.in || len(req.Media) != 4*c.behind, "%d media in results, %d behind them", in, len(req.Media))
			if c.behind > 0 && !bytes.Equal(req.Media[0].Data, pdf) {
				t.Errorf("the document is %q", req.Media[0].Data)
			}
		})
	}
}

func TestMediaOfOneMessageAreLimited(t *testing.T) {
	var content []mcp.Content
	for range 8 {
		content = append(content, media().Content...)
	}
	turn := turnOf(t, registryOf(t, &tool{schema: anything, result: &mcp.CallToolResult{Content: content}}), &belt.Options{Model: claude})
	out := answerOf(use("a", "tool", nil), use("b", "tool", nil), use("c", "tool", nil))
	results := assert.Value(turn.Run(t.Context(), out))(t)
	req := accepted(t, claude, append([]types.Message{ofUser("hi"), belt.Message(out)}, results...), turn.Config(nil))
	assert.Equal(t, len(req.Results[0].Media)+len(req.Results[1].Media)+len(req.Results[2].Media), 20, "there")
	assert.Equal(t, len(req.Media), 5, "there")
	assert.Equal(t, strings.Count(req.Results[2].Text, "[image image/png"), 4, "lines stand for images: %s", req.Results[2].Text)
}

func TestFailureWithoutStatus(t *testing.T) {
	failed := &tool{schema: anything, result: &mcp.CallToolResult{IsError: true}}
	for model, opts := range map[string]*belt.Options{claude: {Model: claude}, mistral: {Model: mistral}} {
		turn := turnOf(t, registryOf(t, failed), opts)
		out := answerOf(use("a", "tool", nil))
		results, _ := turn.Run(t.Context(), out)
		r := accepted(t, model, append([]types.Message{ofUser("hi"), belt.Message(out)}, results...), turn.Config(nil)).Results[0]
		assert.Equal(t, r.Failed, model == claude, "%s is told", model)
		assert.Equal(t, strings.Contains(r.Text, "The tool failed:"), model != claude, "%s is told", model)
	}
}

func TestEndedRunLeavesAConversation(t *testing.T) {
	turn := turnOf(t, registryOf(t, &tool{schema: anything}), nil)
	out := answerOf(use("a", "tool", nil), use("b", "tool", nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results, err := turn.Run(ctx, out)
	assert.True(t, errors.Is(err, context.Canceled), "the error is %v", err)
	req := accepted(t, mistral, belt.Append([]types.Message{ofUser("hi"), belt.Message(out)}, append(results, ofUser("and?"))...), turn.Config(nil))
	assert.False(t, len(req.Results) != 2 || !slices.Equal(req.Users, []string{"hi", "and?"}), "the model is told %+v", req)
}

// FuzzArguments: whatever a model writes into a stream, the tool gets it as it is or not
// at all, and Bedrock takes it back.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{``, ` `, `{}`, `{"a":1.10}`, `[1]`, `null`, `{"a":`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":1,"a":2}`, `{} {}`, "\x00"} {
		f.Add(s)
	}
	made := &tool{schema: anything, result: text("done")}
	r := registry.New(nil)
	assert.OK(f, r.Add(&fixed{made, made.Definition()}))
	f.Fuzz(func(t *testing.T, written string) {
		made.got = nil
		out := assert.Value(collect(streamOf(
			&types.ConverseStreamOutputMemberContentBlockStart{Value: types.ContentBlockStartEvent{
				ContentBlockIndex: aws.Int32(0), Start: &types.ContentBlockStartMemberToolUse{Value: types.ToolUseBlockStart{ToolUseId: aws.String("a"), Name: aws.String("tool")}},
			}},
			&types.ConverseStreamOutputMemberContentBlockDelta{Value: types.ContentBlockDeltaEvent{
				ContentBlockIndex: aws.Int32(0), Delta: &types.ContentBlockDeltaMemberToolUse{Value: types.ToolUseBlockDelta{Input: &written}},
			}},
			stop()), nil))(t)
		results, err := turnOf(t, r, nil).Run(t.Context(), out)
		if err != nil || len(results) != 1 {
			t.Fatalf("Run returned %v, %v", results, err)
		}
		if len(made.got) > 0 && strings.TrimSpace(written) != "" && made.got[0] != written && !json.Valid([]byte(written)) {
			t.Errorf("of %q the tool got %q", written, made.got)
		}
		sent, err := belt.Message(out).Content[0].(*types.ContentBlockMemberToolUse).Value.Input.MarshalSmithyDocument()
		assert.False(t, err != nil || !json.Valid(sent) || bytes.TrimSpace(sent)[0] != '{', "of %q is sent back %q, %v", written, sent, err)
	})
}

// A call that was cut off may lack arguments that it can be made without.
func TestCallThatWasCutOff(t *testing.T) {
	use := func(id string) types.ContentBlock {
		return &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{ToolUseId: &id, Name: aws.String("wipe"), Input: document.NewLazyDocument(map[string]any{})}}
	}
	said := &types.ContentBlockMemberText{Value: "so"}
	for _, c := range []struct {
		stop types.StopReason
		last types.ContentBlock
		want []bool
	}{
		{types.StopReasonToolUse, nil, []bool{false, false}},
		{types.StopReasonEndTurn, nil, []bool{false, false}},
		{types.StopReasonStopSequence, nil, []bool{false, false}},
		{types.StopReasonMaxTokens, nil, []bool{false, true}},
		{types.StopReasonMaxTokens, said, []bool{false, false}},
		{types.StopReasonModelContextWindowExceeded, nil, []bool{false, true}},
		{types.StopReasonContentFiltered, nil, []bool{false, true}},
		{types.StopReasonGuardrailIntervened, nil, []bool{false, true}},
		{types.StopReasonMalformedToolUse, nil, []bool{true, true}},
		{types.StopReasonMalformedModelOutput, said, []bool{true, true}},
	} {
		content := []types.ContentBlock{use("1"), use("2")}
		if c.last != nil {
			content = append(content, c.last)
		}
		out := &bedrockruntime.ConverseOutput{StopReason: c.stop, Output: &types.ConverseOutputMemberMessage{Value: types.Message{Content: content}}}
		calls := (&belt.Turn{}).Calls(out)
		if len(calls) != 2 || calls[0].Incomplete != c.want[0] || calls[1].Incomplete != c.want[1] {
			t.Errorf("%s: the calls are %+v", c.stop, calls)
		}
	}
}

func stop() types.ConverseStreamOutput {
	return &types.ConverseStreamOutputMemberMessageStop{Value: types.MessageStopEvent{StopReason: types.StopReasonToolUse}}
}

// A stream is a script.
type stream struct {
	events chan types.ConverseStreamOutput
	err    error
	closed bool
}

func streamOf(events ...types.ConverseStreamOutput) *stream {
	s := &stream{events: make(chan types.ConverseStreamOutput, len(events))}
	for _, e := range events {
		s.events <- e
	}
	close(s.events)
	return s
}

func (s *stream) Events() <-chan types.ConverseStreamOutput { return s.events }
func (s *stream) Close() error                              { s.closed = true; return s.err }
func (s *stream) Err() error                                { return s.err }

func collect(s *stream, each func(types.ConverseStreamOutput)) (*bedrockruntime.ConverseOutput, error) {
	return belt.Collect(bedrockruntime.NewConverseStreamEventStream(func(es *bedrockruntime.ConverseStreamEventStream) { es.Reader = s }), each)
}

func TestCollect(t *testing.T) {
	delta := func(i int32, d types.ContentBlockDelta) types.ConverseStreamOutput {
		return &types.ConverseStreamOutputMemberContentBlockDelta{Value: types.ContentBlockDeltaEvent{ContentBlockIndex: &i, Delta: d}}
	}
	reasons := func(d types.ReasoningContentBlockDelta) types.ContentBlockDelta {
		return &types.ContentBlockDeltaMemberReasoningContent{Value: d}
	}
	s := streamOf(
		&types.ConverseStreamOutputMemberMessageStart{},
		delta(0, reasons(&types.ReasoningContentBlockDeltaMemberText{Value: "let me "})),
		delta(0, reasons(&types.ReasoningContentBlockDeltaMemberText{Value: "see"})),
		delta(0, reasons(&types.ReasoningContentBlockDeltaMemberSignature{Value: "signed"})),
		delta(1, reasons(&types.ReasoningContentBlockDeltaMemberRedactedContent{Value: []byte("hidden")})),
		delta(2, &types.ContentBlockDeltaMemberText{Value: "I "}),
		delta(2, &types.ContentBlockDeltaMemberText{Value: "know"}),
		delta(3, &types.ContentBlockDeltaMemberCitation{}),
		stop(),
		&types.ConverseStreamOutputMemberMetadata{Value: types.ConverseStreamMetadataEvent{Usage: &types.TokenUsage{TotalTokens: aws.Int32(7)}}},
	)
	seen := 0
	out, err := collect(s, func(types.ConverseStreamOutput) { seen++ })
	if err != nil || seen != 10 || !s.closed || out.StopReason != types.StopReasonToolUse || *out.Usage.TotalTokens != 7 {
		t.Fatalf("%+v, %v, %d events, closed: %v", out, err, seen, s.closed)
	}
	content := belt.Message(out).Content
	if len(content) != 3 {
		t.Fatalf("the message has %d blocks", len(content))
	}
	thought := content[0].(*types.ContentBlockMemberReasoningContent).Value.(*types.ReasoningContentBlockMemberReasoningText).Value
	hidden := content[1].(*types.ContentBlockMemberReasoningContent).Value.(*types.ReasoningContentBlockMemberRedactedContent).Value
	if *thought.Text != "let me see" || *thought.Signature != "signed" || string(hidden) != "hidden" || content[2].(*types.ContentBlockMemberText).Value != "I know" {
		t.Errorf("the message is %+v", content)
	}
}

func TestCollectTellsOfHalfAnAnswer(t *testing.T) {
	if out, err := collect(streamOf(), nil); err == nil || out != nil {
		t.Errorf("a stream without an end is %v, %v", out, err)
	}
	broken := streamOf(stop())
	broken.err = io.ErrUnexpectedEOF
	if out, err := collect(broken, nil); !errors.Is(err, io.ErrUnexpectedEOF) || out != nil {
		t.Errorf("a broken stream is %v, %v", out, err)
	}
}

func TestTurnIsSafeForConcurrentUse(t *testing.T) {
	made := &tool{schema: anything, result: media()}
	turn := turnOf(t, registryOf(t, made), &belt.Options{Turn: profile.TurnOptions{MaxParallel: 2}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			results, err := turn.Run(t.Context(), answerOf(use("a", "tool", nil), use("b", "tool", nil), use("c", "tool", nil)))
			assert.False(t, err != nil || len(turn.Config(results).Tools) != 1, "Run returned %v, %v", results, err)
		})
	}
	wg.Wait()
	assert.Equal(t, len(made.got), 24, "the tool ran times")
}
