package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/listed"
)

func TestFirstCompletions(t *testing.T) {
	some := strings.Repeat(`"é",`, 99) + `"x"`
	for in, want := range map[string]string{
		`{"completion":{"values":[` + some + `]}}`:                            `{"completion":{"values":[` + some + `]}}`,
		`{"completion":{"values":[` + some + `,"y"],"total":101},"_meta":{}}`: `{"completion":{"hasMore":true,"values":[` + some + `],"total":101},"_meta":{}}`,
	} {
		assert.Equal(t, string(message.FirstCompletions(json.RawMessage(in))), want)
	}
}

// An item that no server has listed is written as it is.
func TestAsSaid(t *testing.T) {
	ctx, said := message.AsSaid(t.Context())
	item, other := new(int), new(int)
	listed.Note(ctx, item, json.RawMessage(`{"a":1.0}`))
	assert.Equal(t, string(said(item))+string(said(other)), `{"a":1.0}0`)
}
