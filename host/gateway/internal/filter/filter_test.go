package filter_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/filter"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A filter without patterns has all, and else a tool has to fit both kinds.
func TestFilter(t *testing.T) {
	for _, c := range []struct {
		servers, tools []string
		readOnly       bool
		part, has      bool // of git__log, which does not say that it only reads
	}{
		{nil, nil, false, false, true},
		{[]string{"git"}, nil, false, true, true},
		{[]string{"g*"}, []string{"*__log"}, false, true, true},
		{[]string{"files"}, nil, false, true, false},
		{[]string{"git"}, []string{"*__push"}, false, true, false},
		{nil, nil, true, true, false},
	} {
		f, err := filter.New(c.servers, c.tools, c.readOnly)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.IsPart(); got != c.part {
			t.Errorf("%+v: got %t for whether it is a part, want %t", c, got, c.part)
		}
		d := &registry.Definition{Name: "git__log", Origin: registry.Origin{Server: "git", Tool: "log"}}
		if got := f.HasTool(d); got != c.has {
			t.Errorf("%+v: got %t for the tool, want %t", c, got, c.has)
		}
	}
	if _, err := filter.New(nil, []string{"["}, false); err == nil {
		t.Error("got no error for a pattern that cannot be compiled, want one")
	}
}
