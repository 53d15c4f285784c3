package edit

import (
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestUnclosedIsNotWritten: a file whose last brace is missing, which VS Code reads, stays as
// it is.
func TestUnclosedIsNotWritten(t *testing.T) {
	const text = "{\"servers\": {\"a\": {\"command\": \"x\"}} // end"
	d := assert.Value(newDraft(".vscode/mcp.json", []byte(text), nil))(t)
	if err := (&File{d}).Remove("a"); err == nil || string(d.data) != text {
		t.Errorf("got %v and %s, want an error and no change", err, d.data)
	}
}

// TestSkippedKeepTheirNames: no server is added under the name of an entry that is none.
func TestSkippedKeepTheirNames(t *testing.T) {
	const text = `{"context_servers": {"db": {"source": "extension", "settings": {}}, "x": {"command": "x"}}}`
	d := assert.Value(newDraft("settings.json", []byte(text), nil))(t)
	if err := (&File{d}).Add(&record.Record{Name: "db", Command: "y"}); !errors.Is(err, &record.Error{Code: record.CodeNameTaken}) {
		t.Errorf("got %v, want an error: the name is that of an extension", err)
	}
}
