package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A short pattern can stand for a program of many instructions, and the server
// also says what is to be held against it: were that done, these forms would
// keep a processor busy for hours.
func TestFormBombs(t *testing.T) {
	pattern := strings.Repeat("(a?){1000}", 100) + "b"
	fields := map[string]any{}
	for i := range 20 {
		fields[fmt.Sprint(i)] = map[string]any{"type": "string", "pattern": pattern, "default": strings.Repeat("a", 100_000)}
	}
	fields["5"] = map[string]any{"type": "string", "format": "email", "default": strings.Repeat("(", 1<<20)}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": fields})
	if err != nil {
		t.Fatal(err)
	}
	r := &mcp.ElicitRequest{Params: &mcp.ElicitParams{RequestedSchema: json.RawMessage(schema)}}
	content, err := r.Fill(nil)
	if err != nil || len(content) != 19 {
		t.Errorf("%d fields, %v", len(content), err)
	}
	field := &mcp.FormField{Name: "x", Type: mcp.FieldString, Pattern: pattern}
	if _, err := field.Parse("c"); err != nil {
		t.Errorf("what was not checked is refused: %v", err)
	}
	field.Pattern = `^([a-z]{1,20}\.){1,9}$`
	if _, err := field.Parse(strings.Repeat("abc.", 20)); err == nil {
		t.Error("a pattern of a common size is not checked")
	}
}

func TestFormRequiresTooMuch(t *testing.T) {
	schema := `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"` + strings.Repeat(`,"a"`, 100) + `]}`
	_, err := (&mcp.ElicitRequest{Params: &mcp.ElicitParams{RequestedSchema: json.RawMessage(schema)}}).Fill(nil)
	if err == nil || !strings.Contains(err.Error(), "more than 100") {
		t.Errorf("got %v", err)
	}
}
