package bedrock

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
)

// errCut reports a stream without an end.
var errCut = errors.New("bedrock: the stream ended before the answer of the model was complete; make the request again")

// Collect reads a stream to its end, closes it, and returns the answer as Converse
// would have: text, calls, results of Bedrock's own tools, reasoning with its signature,
// why it stopped, and what it took. Each, if it is not nil, gets every event as it comes,
// in the same goroutine, for text that a user sees at once.
//
// The error is that of the stream, such as the end of the request's context. A stream
// that stops in the middle is an error, too: half a call is none.
func Collect(stream *bedrockruntime.ConverseStreamEventStream, each func(types.ConverseStreamOutput)) (*bedrockruntime.ConverseOutput, error) {
	defer func() { _ = stream.Close() }()
	out := &bedrockruntime.ConverseOutput{}
	blocks := map[int32]*piece{}
	stopped := false
	for event := range stream.Events() {
		if each != nil {
			each(event)
		}
		switch e := event.(type) {
		case *types.ConverseStreamOutputMemberContentBlockStart:
			switch start := e.Value.Start.(type) {
			case *types.ContentBlockStartMemberToolUse:
				pieceAt(blocks, e.Value.ContentBlockIndex).use = &start.Value
			case *types.ContentBlockStartMemberToolResult:
				pieceAt(blocks, e.Value.ContentBlockIndex).result = &start.Value
			}
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			pieceAt(blocks, e.Value.ContentBlockIndex).add(e.Value.Delta)
		case *types.ConverseStreamOutputMemberMessageStop:
			out.StopReason, out.AdditionalModelResponseFields = e.Value.StopReason, e.Value.AdditionalModelResponseFields
			stopped = true
		case *types.ConverseStreamOutputMemberMetadata:
			out.Usage = e.Value.Usage
			if e.Value.Metrics != nil {
				out.Metrics = &types.ConverseMetrics{LatencyMs: e.Value.Metrics.LatencyMs}
			}
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if !stopped {
		return nil, errCut
	}
	message := types.Message{Role: types.ConversationRoleAssistant}
	for _, i := range slices.Sorted(maps.Keys(blocks)) {
		if block := blocks[i].block(); block != nil {
			message.Content = append(message.Content, block)
		}
	}
	out.Output = &types.ConverseOutputMemberMessage{Value: message}
	return out, nil
}

// A piece is a block of an answer on its way.
type piece struct {
	use       *types.ToolUseBlockStart
	result    *types.ToolResultBlockStart // of a tool of Bedrock itself
	returned  []types.ToolResultContentBlock
	text      strings.Builder // or the arguments of a call
	thought   strings.Builder
	signature string
	redacted  []byte
	reasons   bool
}

func pieceAt(blocks map[int32]*piece, index *int32) *piece {
	i := aws.ToInt32(index)
	blocks[i] = cmp.Or(blocks[i], &piece{})
	return blocks[i]
}

// add adds what has come. Other forms of output than text are not for the conversation to
// come.
func (p *piece) add(delta types.ContentBlockDelta) {
	switch d := delta.(type) {
	case *types.ContentBlockDeltaMemberText:
		p.text.WriteString(d.Value)
	case *types.ContentBlockDeltaMemberToolUse:
		p.text.WriteString(aws.ToString(d.Value.Input))
	case *types.ContentBlockDeltaMemberToolResult:
		for _, r := range d.Value {
			p.addReturned(r)
		}
	case *types.ContentBlockDeltaMemberReasoningContent:
		p.reasons = true
		switch r := d.Value.(type) {
		case *types.ReasoningContentBlockDeltaMemberText:
			p.thought.WriteString(r.Value)
		case *types.ReasoningContentBlockDeltaMemberSignature:
			p.signature += r.Value
		case *types.ReasoningContentBlockDeltaMemberRedactedContent:
			p.redacted = append(p.redacted, r.Value...)
		}
	}
}

// addReturned adds what a tool of Bedrock itself has returned.
func (p *piece) addReturned(delta types.ToolResultBlockDelta) {
	switch d := delta.(type) {
	case *types.ToolResultBlockDeltaMemberText:
		if last := len(p.returned) - 1; last >= 0 {
			if text, ok := p.returned[last].(*types.ToolResultContentBlockMemberText); ok {
				text.Value += d.Value
				return
			}
		}
		p.returned = append(p.returned, &types.ToolResultContentBlockMemberText{Value: d.Value})
	case *types.ToolResultBlockDeltaMemberJson:
		p.returned = append(p.returned, &types.ToolResultContentBlockMemberJson{Value: newInput(argumentsOf(d.Value))})
	}
}

// block returns the block as it is in an answer that is no stream; nil: nothing has come.
func (p *piece) block() types.ContentBlock {
	switch {
	case p.use != nil:
		return &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
			ToolUseId: p.use.ToolUseId, Name: p.use.Name, Type: p.use.Type, Input: newInput([]byte(p.text.String())),
		}}
	case p.result != nil:
		return &types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{
			ToolUseId: p.result.ToolUseId, Type: p.result.Type, Status: p.result.Status,
			Content: append([]types.ToolResultContentBlock{}, p.returned...),
		}}
	case p.redacted != nil:
		return &types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberRedactedContent{Value: p.redacted}}
	case p.reasons:
		thought := types.ReasoningTextBlock{Text: aws.String(p.thought.String())}
		if p.signature != "" {
			thought.Signature = aws.String(p.signature)
		}
		return &types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberReasoningText{Value: thought}}
	case p.text.Len() > 0:
		return &types.ContentBlockMemberText{Value: p.text.String()}
	}
	return nil
}
