package registry_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestWithEditsACopy(t *testing.T) {
	base := serverTool("notes", "create", "makes a note")
	base.def.Annotations = &mcp.ToolAnnotations{DestructiveHint: ptr(true), OpenWorldHint: ptr(true)}
	schema := string(base.def.InputSchema)

	edited := assert.Value(registry.With(base, func(d *registry.Definition) {
		d.Name = "note"
		d.Title = "Note"
		*d.Annotations.DestructiveHint = false
		*d.Annotations.OpenWorldHint = false
		d.InputSchema[1] = ' '
		d.InputSchema = json.RawMessage(`{"type":"object","properties":{}}`)
	}))(t)
	if d := edited.Definition(); d.Name != "note" || d.Title != "Note" || d.Origin != base.def.Origin || *d.Annotations.DestructiveHint {
		t.Errorf("edited definition = %+v", d)
	}
	if d := base.def; d.Name != "notes__create" || d.Title != "" || !*d.Annotations.DestructiveHint || !*d.Annotations.OpenWorldHint || string(d.InputSchema) != schema {
		t.Errorf("the edit reached the original definition: %+v", d)
	}
	if res, err := edited.Call(t.Context(), nil); err != nil || res != base.answer {
		t.Errorf("Call = %v, %v; want the original tool's result", res, err)
	}

	twice := assert.Value(registry.With(edited, func(d *registry.Definition) { d.Title = "Again" }))(t)
	if d := twice.Definition(); d.Name != "note" || d.Title != "Again" {
		t.Errorf("definition edited twice = %+v", d)
	}
	if edited.Definition().Title != "Note" {
		t.Error("the second edit reached the first tool")
	}
}

func TestWithKeepsAnnotationsNil(t *testing.T) {
	same := assert.Value(registry.With(native("add"), nil))(t)
	if d := same.Definition(); d.Annotations != nil || d.OutputSchema != nil {
		t.Errorf("definition = %+v, want no annotations and no output schema", d)
	}
}

func TestDefinitionsThatCannotBeListed(t *testing.T) {
	change := func(edit func(*registry.Definition)) registry.Tool {
		tool := native("add")
		edit(tool.def)
		return tool
	}
	var nilPointer *plainTool
	for what, test := range map[string]struct {
		tool  registry.Tool
		field string
	}{
		"nil":                     {nil, ""},
		"nil pointer":             {nilPointer, ""},
		"nil definition":          {&plainTool{}, ""},
		"no name":                 {change(func(d *registry.Definition) { d.Name = "" }), "Name"},
		"long name":               {change(func(d *registry.Definition) { d.Name = strings.Repeat("x", 257) }), "Name"},
		"control character":       {change(func(d *registry.Definition) { d.Name = "a\nb" }), "Name"},
		"invalid UTF-8":           {change(func(d *registry.Definition) { d.Name = "a\xff" }), "Name"},
		"no input schema":         {change(func(d *registry.Definition) { d.InputSchema = nil }), "InputSchema"},
		"boolean input schema":    {change(func(d *registry.Definition) { d.InputSchema = json.RawMessage("true") }), "InputSchema"},
		"broken input schema":     {change(func(d *registry.Definition) { d.InputSchema = json.RawMessage(`{"a"`) }), "InputSchema"},
		"broken output schema":    {change(func(d *registry.Definition) { d.OutputSchema = json.RawMessage(`{"a"`) }), "OutputSchema"},
		"null as an outputschema": {change(func(d *registry.Definition) { d.OutputSchema = json.RawMessage(`null`) }), "OutputSchema"},
	} {
		t.Run(what, func(t *testing.T) {
			r := registry.New(nil)
			err := r.Add(native("other"), test.tool)
			var bad *registry.DefinitionError
			if !errors.As(err, &bad) || bad.Field != test.field {
				t.Fatalf("Add = %v, want a DefinitionError about %q", err, test.field)
			}
			if got := listedNames(r.Snapshot()); got != nil {
				t.Errorf("catalogue = %q after a failed Add", got)
			}
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
				t.Errorf("text of the error: %q", err)
			}
			var edit *registry.DefinitionError
			if _, err := registry.With(test.tool, nil); !errors.As(err, &edit) || edit.Field != test.field {
				t.Errorf("With = %v, want a DefinitionError about %q", err, test.field)
			}
		})
	}
}

func TestOriginString(t *testing.T) {
	assert.Equal(t, (registry.Origin{}).String(), "a native tool", "String() =")
	assert.Equal(t, (registry.Origin{Server: "notes", Tool: "create"}).String(), `tool "create" of server "notes"`, "String() =")
}
