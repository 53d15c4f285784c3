package filter_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/filter"
	"github.com/mcpbelt/mcpbelt/internal/assert"
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
		f := assert.Value(filter.New(c.servers, c.tools, c.readOnly))(t)
		assert.Equal(t, f.IsPart(), c.part, "%+v: it is a part", c)
		d := &registry.Definition{Name: "git__log", Origin: registry.Origin{Server: "git", Tool: "log"}}
		assert.Equal(t, f.HasTool(d), c.has, "%+v: the tool is in it", c)
	}
	_, err := filter.New(nil, []string{"["}, false)
	assert.Fails(t, err, "a pattern that cannot be compiled")
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
