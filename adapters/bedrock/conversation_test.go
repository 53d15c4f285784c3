package bedrock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	belt "github.com/mcpbelt/mcpbelt/adapters/bedrock"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// messagesOf reads messages of the user, u, and the model, m, with one letter for each
// block: upper case for a result, and for a call behind a star.
func messagesOf(script string) []types.Message {
	var messages []types.Message
	for role := range strings.FieldsSeq(script) {
		m := types.Message{Role: map[byte]types.ConversationRole{'u': "user", 'm': "assistant"}[role[0]]}
		call := false
		for _, letter := range role[2:] {
			if letter == '*' {
				call = true
				continue
			}
			block := said(string(letter))
			if call {
				block = &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{ToolUseId: aws.String(string(letter)), Name: aws.String("it")}}
			} else if letter >= 'A' && letter <= 'Z' {
				block = &types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{ToolUseId: aws.String(string(letter))}}
			}
			m.Content = append(m.Content, block)
			call = false
		}
		messages = append(messages, m)
	}
	return messages
}

func scriptOf(messages []types.Message) string {
	var fields []string
	for _, m := range messages {
		field := map[types.ConversationRole]string{"user": "u:", "assistant": "m:"}[m.Role]
		for _, block := range m.Content {
			switch b := block.(type) {
			case *types.ContentBlockMemberText:
				field += strings.ReplaceAll(b.Value, "(no answer)", "-")
			case *types.ContentBlockMemberToolUse:
				field += "*" + *b.Value.ToolUseId
			case *types.ContentBlockMemberToolResult:
				field += *b.Value.ToolUseId
			}
		}
		fields = append(fields, field)
	}
	return strings.Join(fields, " ")
}

func TestAppend(t *testing.T) {
	for _, c := range []struct{ messages, more, want string }{
		{"", "", ""},
		{"", "u:a", "u:a"},
		{"u:a m:b", "", "u:a m:b"},
		{"u:a", "m:b u:c m:d", "u:a m:b u:c m:d"},
		{"u:a", "u:b u:c", "u:abc"},
		{"u:a m:b", "m:c u:d", "u:a m:bc u:d"},
		{"u:a m:b*C*D", "u:CD u:e", "u:a m:b*C*D u:CD m:- u:e"},
		{"u:a m:b*C u:C", "u:d u:e", "u:a m:b*C u:C m:- u:de"},
		{"u:a m:b*C*D u:C", "u:D", "u:a m:b*C*D u:CD"},
		{"u:a m:b*C*E u:Cd", "u:E u:f", "u:a m:b*C*E u:CEd m:- u:f"},
		{"u:a m:b*C u:C", "m:- u:d u:e", "u:a m:b*C u:C m:- u:de"},
		{"u:a m:b*D u:c", "u:D", "u:a m:b*D u:D m:- u:c"},
		{"u:a m:b u:C", "u:d", "u:a m:b u:d"}, // a result of no call
		{"u:a m:b*C", "u:d", "u:a m:b*C u:C m:- u:d"},
		{"u:a m:bC", "m:d", "u:a m:bCd"}, // results of Bedrock's own tools
		{"u:a m:b", "m:cDe", "u:a m:bcDe"},
	} {
		t.Run(fmt.Sprint(c.messages, " + ", c.more), func(t *testing.T) {
			messages, more := messagesOf(c.messages), messagesOf(c.more)
			messages = slices.Grow(messages, 8) // room that is the caller's
			for i := range messages {
				messages[i].Content = slices.Grow(messages[i].Content, 8)
			}
			room := messages[:cap(messages)]
			assert.Equal(t, scriptOf(belt.Append(messages, more...)), c.want)
			if was, now := messagesOf(c.messages), messages; scriptOf(was) != scriptOf(now) {
				t.Errorf("%s became %s", scriptOf(was), scriptOf(now))
			}
			for _, m := range room[len(messages):] {
				assert.Equal(t, m.Role, "", "what lies behind the messages became")
			}
			for _, m := range messages {
				for _, block := range m.Content[len(m.Content):cap(m.Content)] {
					if block != nil {
						t.Errorf("what lies behind the content became %+v", block)
					}
				}
			}
			assert.Equal(t, scriptOf(more), c.more)
		})
	}
}
