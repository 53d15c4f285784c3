package bedrock

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// Limits of one message, by the API's reference.
const (
	maxImages    = 20
	maxDocuments = 5
)

// Results returns the answers to all calls of a message, in their order, as what goes
// into the conversation behind it, by [Append]; none if there are none. It is one message
// with the results, and images and documents that cannot stand in them behind. Models that
// take nothing beside results get these in a message of their own, and between the two one
// in which the model does not answer.
func (t *Turn) Results(answers ...profile.Answer) []types.Message {
	if len(answers) == 0 {
		return nil
	}
	m := types.Message{Role: types.ConversationRoleUser}
	room := room{maxImages, maxDocuments}
	var behind []types.ContentBlock
	for _, a := range answers {
		result, media := t.result(&a, &room)
		m.Content = append(m.Content, result)
		behind = append(behind, media...)
	}
	if !t.native && behind != nil {
		return []types.Message{m, unanswered(), {Role: types.ConversationRoleUser, Content: behind}}
	}
	m.Content = append(m.Content, behind...)
	return []types.Message{m}
}

// result returns the result of a call, and what stands behind all results.
func (t *Turn) result(a *profile.Answer, room *room) (types.ContentBlock, []types.ContentBlock) {
	parts := t.Set().Parts(a.Result)
	block := types.ToolResultBlock{ToolUseId: aws.String(a.Call.ID)}
	if a.Result.IsError {
		if t.native {
			block.Status = types.ToolResultStatusError
		} else {
			block.Content = append(block.Content, &types.ToolResultContentBlockMemberText{Value: profile.Failure})
		}
	}
	var behind []types.ContentBlock
	for i, p := range parts {
		image := types.ImageBlock{Format: types.ImageFormat(strings.TrimPrefix(p.Type, "image/")), Source: &types.ImageSourceMemberBytes{Value: p.Data}}
		switch {
		case !room.take(p):
			block.Content = append(block.Content, &types.ToolResultContentBlockMemberText{Value: p.Text})
		case p.Type == pdf:
			line := attached(p.Text, a.Call.ID, i)
			block.Content = append(block.Content, &types.ToolResultContentBlockMemberText{Value: line})
			behind = append(behind, &types.ContentBlockMemberText{Value: line}, &types.ContentBlockMemberDocument{Value: types.DocumentBlock{
				Name:   aws.String(label(a.Call.ID, i)),
				Format: types.DocumentFormatPdf,
				Source: &types.DocumentSourceMemberBytes{Value: p.Data},
			}})
		case t.native:
			block.Content = append(block.Content, &types.ToolResultContentBlockMemberImage{Value: image})
		default:
			line := attached(p.Text, a.Call.ID, i)
			block.Content = append(block.Content, &types.ToolResultContentBlockMemberText{Value: line})
			behind = append(behind, &types.ContentBlockMemberText{Value: line}, &types.ContentBlockMemberImage{Value: image})
		}
	}
	return &types.ContentBlockMemberToolResult{Value: block}, behind
}

const pdf = "application/pdf"

// attached returns the line of text for what stands behind the results, which it
// names: the model has to know which is which.
func attached(line, call string, place int) string {
	return strings.TrimSuffix(line, "]") + ", attached as " + label(call, place) + "]"
}

// label names what stands behind the results. Documents need a name that is unique in
// the whole conversation, of letters, digits, single blanks, hyphens and brackets; it is
// ours, because Bedrock warns of names that speak to the model.
func label(call string, place int) string {
	sum := sha256.Sum256([]byte(call))
	return fmt.Sprintf("attachment %x-%d", sum[:6], place)
}

// A room is how much a message can still take.
type room struct{ images, documents int }

// take reports whether there is room for a part, and takes it. Text finds none here: it
// needs none.
func (r *room) take(p profile.Part) bool {
	left := &r.images
	switch p.Type {
	case "":
		return false
	case pdf:
		left = &r.documents
	}
	if *left <= 0 {
		return false
	}
	*left--
	return true
}
