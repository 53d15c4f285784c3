package filter_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/filter"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A filter without patterns has all, and else a tool has to fit both kinds. One that names tools alone
// has no resources and prompts.
func TestFilter(t *testing.T) {
	for _, c := range []struct {
		servers, tools []string
		readOnly       bool
		part, has      bool // of git__log, which does not say that it only reads
		all, content   bool
	}{
		{nil, nil, false, false, true, true, true},
		{[]string{"git"}, nil, false, true, true, false, true},
		{[]string{"g*"}, []string{"*__log"}, false, true, true, false, true},
		{[]string{"files"}, nil, false, true, false, false, true},
		{[]string{"git"}, []string{"*__push"}, false, true, false, false, true},
		{nil, []string{"*__log"}, false, true, true, true, false},
		{nil, nil, true, true, false, true, true},
	} {
		f := assert.Value(filter.New(c.servers, c.tools, c.readOnly))(t)
		assert.Equal(t, f.IsPart(), c.part, "%+v: it is a part", c)
		d := &registry.Definition{Name: "git__log", Origin: registry.Origin{Server: "git", Tool: "log"}}
		assert.Equal(t, f.HasTool(d), c.has, "%+v: the tool is in it", c)
		assert.Equal(t, f.HasAllServers(), c.all, "%+v: it has all servers", c)
		assert.Equal(t, f.HasContent(), c.content, "%+v: it has resources and prompts", c)
	}
	for _, c := range []struct{ servers, tools []string }{{nil, []string{"git", "["}}, {[]string{"["}, nil}} {
		_, err := filter.New(c.servers, c.tools, false)
		assert.Fails(t, err, "%+v", c)
		assert.Contains(t, err.Error(), `the pattern "["`, "%+v", c)
	}
}

// Hidden is what the program added so: no tool that is listed, none of a server, and none that is not there.
func TestIsHidden(t *testing.T) {
	r := registry.New(nil)
	add := func(name string) registry.Tool {
		return registry.MustFunc(name, "", func(context.Context, struct{}) (string, error) { return "", nil })
	}
	assert.OK(t, r.Add(add("a"), add("z")))
	assert.OK(t, r.AddHidden(add("m")))
	for _, c := range []struct {
		name, server string
		want         bool
	}{{"a", "", false}, {"z", "", false}, {"m", "", true}, {"m", "git", false}, {"gone", "", false}} {
		d := &registry.Definition{Name: c.name, Origin: registry.Origin{Server: c.server}}
		assert.Equal(t, filter.IsHidden(r.Snapshot(), d), c.want, "%s of %q", c.name, c.server)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
