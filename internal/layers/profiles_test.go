package layers

import (
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

// profiled are the providers, in the order of the table.
func profiled() []profile.Provider {
	return []profile.Provider{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.Bedrock, profile.Ollama}
}

// A served tool is one of the corpus, which nobody calls.
type served struct {
	registry.Tool
	def *registry.Definition
}

func (s served) Definition() *registry.Definition { return s.def }

// profileTable writes docs/profiles.md.
func profileTable(servers []toolcorpus.Server) (string, error) {
	var tools []registry.Tool
	for _, server := range servers {
		for _, t := range server.Tools {
			name := names.ServerTool.Name(server.Name, t.Name)
			tools = append(tools, served{def: &registry.Definition{Name: name, Description: t.Description, InputSchema: t.InputSchema}})
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
	for _, p := range profiled() {
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
`, len(tools), len(servers), heads(), strings.Repeat("--:|", len(profiled())))
	line := func(title string, row map[profile.Provider]int) {
		fmt.Fprintf(&b, "| %s |", title)
		for _, p := range profiled() {
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
	for _, p := range profiled() {
		names = append(names, string(p))
	}
	return strings.Join(names, " | ")
}

// TestProfileTable holds docs/profiles.md against what becomes of the tools of real
// servers. With -update it writes it.
func TestProfileTable(t *testing.T) {
	want := assert.Value(profileTable(toolcorpus.Servers()))(t)
	name := filepath.Join(root, "docs", "profiles.md")
	if *update {
		assert.OK(t, os.WriteFile(name, []byte(want), 0o644))
		return
	}
	got, err := os.ReadFile(name)
	assert.True(t, err == nil && string(got) == want, "docs/profiles.md is what the profiles give: run make profiles (%v)", err)
}
