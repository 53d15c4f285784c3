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
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

var update = flag.Bool("update", false, "write testdata/compiled.golden and docs/profiles.md")

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
	if *update {
		assert.OK(t, os.MkdirAll("testdata", 0o755))
		assert.OK(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
	want := assert.Value(os.ReadFile(file))(t)
	got, was := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(got), len(was)) {
		if got[i] != was[i] {
			t.Fatalf("line %d: got\n%s\nwant\n%s\nrun with -update if that is meant", i+1, got[i], was[i])
		}
	}
	assert.Equal(t, len(got), len(was), "lines")
}

// profileTable writes docs/profiles.md.
func profileTable(servers []toolcorpus.Server) (string, error) {
	var tools []registry.Tool
	for _, server := range servers {
		for _, t := range server.Tools {
			name := names.ServerTool.Name(server.Name, t.Name)
			tools = append(tools, &described{def: registry.Definition{Name: name, Description: t.Description, InputSchema: t.InputSchema}})
		}
	}
	effects := []profile.Effect{profile.Looser, profile.Narrower, profile.Recoded}
	totals := map[string]map[profile.Provider]int{}
	count := func(in map[string]map[profile.Provider]int, row string, p profile.Provider) {
		if in[row] == nil {
			in[row] = map[profile.Provider]int{}
		}
		in[row][p]++
	}
	for _, p := range providers {
		set, err := profile.Compile(p, tools, nil)
		if err != nil {
			return "", err
		}
		for range set.Rejected() {
			count(totals, "rejected", p)
		}
		for _, t := range set.Tools() {
			if len(t.Losses) == 0 {
				count(totals, "none", p)
			}
			if t.Strict {
				count(totals, "strict", p)
			}
			seen := map[string]bool{}
			for _, loss := range t.Losses {
				seen[string(loss.Effect)] = true
			}
			for effect := range seen {
				count(totals, effect, p)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# What providers take of real tools

Written by `+"`make profiles`"+` from the %d tools of %d servers in internal/toolcorpus. Do not
edit. What each provider refuses is said, and checked, in registry/profile; the effects
of losses are those of package profile.

| tools | %s |
|---|%s
`, len(tools), len(servers), heads(), strings.Repeat("--:|", len(providers)))
	line := func(title string, row map[profile.Provider]int) {
		fmt.Fprintf(&b, "| %s |", title)
		for _, p := range providers {
			fmt.Fprintf(&b, " %d |", row[p])
		}
		b.WriteString("\n")
	}
	line("without a loss", totals["none"])
	line("that cannot be told at all", totals["rejected"])
	line("held to the schema (strict)", totals["strict"])
	for _, effect := range effects {
		line("with a loss that is "+string(effect), totals[string(effect)])
	}
	return b.String(), nil
}

func heads() string {
	var names []string
	for _, p := range providers {
		names = append(names, string(p))
	}
	return strings.Join(names, " | ")
}

// TestProfileTable holds docs/profiles.md against what becomes of the tools of real
// servers. With -update it writes it.
func TestProfileTable(t *testing.T) {
	want := assert.Value(profileTable(toolcorpus.Servers()))(t)
	name := filepath.Join("..", "..", "docs", "profiles.md")
	if *update {
		assert.OK(t, os.WriteFile(name, []byte(want), 0o644))
		return
	}
	got, err := os.ReadFile(name)
	assert.True(t, err == nil && string(got) == want, "docs/profiles.md is what the profiles give: run make profiles (%v)", err)
}
