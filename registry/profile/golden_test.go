// Tests of declaration.go: what is sent for tools of real servers stays as it is.

package profile_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

var updateGolden = flag.Bool("update-compiled", false, "write testdata/compiled.golden")

// TestGolden keeps what becomes of some tools of real servers, so that a change of
// what is sent is seen: an update costs the provider's cache of prompts.
func TestGolden(t *testing.T) {
	var out strings.Builder
	for _, name := range []string{
		"airtable/0", "brave/0", "chrome/3", "circleci/1", "everything/0", "filesystem/4", "firecrawl/0",
		"github/3", "gitlab/8", "kubernetes/2", "memory/0", "notion/5", "sequential-thinking/0", "stripe/6",
	} {
		server, place, _ := strings.Cut(name, "/")
		var index int
		assert.Value(fmt.Sscan(place, &index))(t)
		data := assert.Value(os.ReadFile(filepath.Join("..", "..", "internal", "toolcorpus", "testdata", "servers", server+".json")))(t)
		var all []struct {
			Name, Description string
			InputSchema       json.RawMessage
		}
		assert.OK(t, json.Unmarshal(data, &all))
		one := all[min(index, len(all)-1)]
		def := registry.Definition{Name: server + "__" + one.Name, InputSchema: one.InputSchema}
		for _, p := range providers {
			set, err := profile.Compile(p, []registry.Tool{&described{def: def}}, nil)
			assert.OK(t, err)
			assert.Equal(t, len(set.Tools()), 1)
			c := set.Tools()[0]
			fmt.Fprintf(&out, "%s %s\n%s\n", p, c.Name, c.Declaration())
			for _, l := range c.Losses {
				fmt.Fprintf(&out, "\t%s %s: %s\n", l.Effect, l.Path, l.Detail)
			}
		}
	}
	file := filepath.Join("testdata", "compiled.golden")
	if *updateGolden {
		assert.OK(t, os.MkdirAll("testdata", 0o755))
		assert.OK(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
	want := assert.Value(os.ReadFile(file))(t)
	got, was := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(got), len(was)) {
		if got[i] != was[i] {
			t.Fatalf("line %d: got\n%s\nwant\n%s\nrun with -update-compiled if that is meant", i+1, got[i], was[i])
		}
	}
	assert.Equal(t, len(got), len(was), "lines")
}
