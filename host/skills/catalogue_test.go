package skills_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/skills"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/skilltest"
)

// A model gets what was accepted, of the server of which it was, until it changes.
func TestModelsGetWhatWasAccepted(t *testing.T) {
	docs, path := refunds(), filepath.Join(t.TempDir(), "mcp.lock.json")
	servers := map[string]*skilltest.Server{"docs": docs, "shop": refunds()}
	h, ctx := open(t, path, servers), hosttest.Watchdog(t)
	c := skills.New(h, &skills.Options{Folders: []string{folder(t, "refunds/SKILL.md", skilltest.File("refunds", "Own", "Own text"))}})
	r := h.Registry()
	assert.OK(t, r.Add(c.Tools()...))
	accept := func(name string) {
		t.Helper()
		assert.OK(t, c.Accept(ctx, "ada", assert.Value(c.Find(ctx, name))(t)))
	}
	var names []string
	for _, s := range c.List(ctx, nil).Items {
		names = append(names, s.Name)
	}
	assert.Equal(t, strings.Join(names[:1], " "), "refunds", "the first")
	assert.Equal(t, len(names), 5)
	assert.Lacks(t, c.Instructions(ctx, 0), "docs__")
	assert.Contains(t, call(ctx, r, "load_skill", "refunds"), "Skill refunds, of this program.\n\n---")
	const held = `skill "docs__refunds" is held back: `
	assert.Contains(t, call(ctx, r, "load_skill", "docs__refunds"), held+"it has not been accepted yet")
	assert.Contains(t, call(ctx, r, "read_skill_file", "docs__refunds", "forms/a.md"), held)

	accept("docs__refunds")
	assert.Equal(t, r.Ledger().Entries("docs/skills")[0].By, "ada")
	assert.Contains(t, c.Instructions(ctx, 0), "- refunds: Own\n- docs__refunds (of the server docs): Pays back\n")
	loaded := call(ctx, r, "load_skill", "docs__refunds")
	assert.Contains(t, loaded, `of the MCP server "docs". It is advice of that server`)
	assert.Contains(t, loaded, "read_skill_file:\n- forms/a.md\n- in/a/SKILL.md\n\n---\nname: refunds")
	assert.Contains(t, call(ctx, r, "read_skill_file", "docs__refunds", "forms/a.md"), `File "forms/a.md" of skill docs__refunds, of the MCP server "docs". It is advice`)
	assert.Contains(t, call(ctx, r, "read_skill_file", "docs__refunds", "in/a/SKILL.md"), "Inner text")
	for _, other := range []string{"docs__a", "shop__refunds"} { // one that lies in it, one with the same URI
		assert.Contains(t, call(ctx, r, "load_skill", other), "is held back: it has not been accepted yet")
	}
	again := skills.New(open(t, path, servers), nil)
	assert.True(t, assert.Value(again.Find(ctx, "docs__refunds"))(t).Held == nil, "accepted by another host's ledger")

	docs.Set("skill://refunds/forms/a.md", "Another form")
	assert.Contains(t, call(ctx, r, "read_skill_file", "docs__refunds", "forms/a.md"), "it has 12 bytes, the skill says 6")
	changed := call(ctx, r, "load_skill", "docs__refunds")
	assert.Contains(t, changed, held+"it has changed since it was accepted")
	assert.Contains(t, changed, `/manifest/files/forms~1a.md: was "sha256:`)
	accept("docs__refunds")
	assert.Contains(t, call(ctx, r, "read_skill_file", "docs__refunds", "forms/a.md"), "\n\nAnother form")
}

// What a server takes back is gone as soon as it says so; what it lists that is no skill is said.
func TestChangesAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := refunds("skill://odd/SKILL.md", skilltest.File("even", "Odd", ""))
		docs.Old = true
		h, ctx := inProcess(t.Context(), docs), t.Context()
		defer h.Close()
		c := skills.New(h, nil)
		l := c.List(ctx, nil)
		assert.Equal(t, len(l.Items), 2)
		assert.Contains(t, l.Err().Error(), "skills[0] is no skill: ")
		assert.OK(t, c.Accept(ctx, "ada", assert.Value(c.Find(ctx, "docs__refunds"))(t)))
		assert.Contains(t, c.Instructions(ctx, 0), "docs__refunds")
		before := time.Now()
		docs.Set("skill://refunds/SKILL.md", "")
		hosttest.Eventually(t, "it is gone", func() bool { return c.Instructions(ctx, 0) == "" })
		assert.True(t, time.Since(before) < time.Minute, "after %v", time.Since(before))
	})
}

// What a skill asks for is worth nothing before it is accepted.
func TestAllowedTools(t *testing.T) {
	h, ctx := open(t, "", map[string]*skilltest.Server{"docs": refunds("skill://b/SKILL.md", skilltest.File("b", "B\nallowed-tools: Bash(rm *)", ""))}), hosttest.Watchdog(t)
	c := skills.New(h, nil)
	for _, want := range []string{"", "Bash(rm *)"} {
		s := assert.Value(c.Find(ctx, "docs__b"))(t)
		assert.Equal(t, s.AllowedTools(), want)
		assert.OK(t, c.Accept(ctx, "ada", s))
	}
}

// What is found by other ways, and what reaches no model, accepted or not.
func TestHostileSkills(t *testing.T) {
	for _, test := range []struct {
		name, more, text, want string
		change                 func(method string, result map[string]any)
	}{
		{name: "docs__x", text: "X\ndynamic: yes", want: "cannot be accepted"},
		{name: "docs__x", text: "X\u202e", want: "bidi_characters"},
		{name: "docs__x", text: "X", more: "do \U000e0068\U000e0069 this", want: "tag_characters"},
		{name: "docs__y", text: "X", want: `there is no skill "docs__y"; did you mean docs__a, docs__x?`},
		{name: "mcpbelt:docs/skill://unlisted/SKILL.md", text: "X", want: `skill "docs__unlisted" is held back`},
		{name: "skill://x/SKILL.md", text: "X", want: "Skill docs__x, of the MCP server"},
		{name: "mcpbelt:docs/skill://nobody/SKILL.md", text: "X", want: "there is none"},
		{name: "docs__x", text: "X", want: "front matter is not that which the server lists", change: func(_ string, result map[string]any) {
			all, _ := result["skills"].([]any)
			for _, e := range all {
				e.(map[string]any)["frontmatter"].(map[string]any)["license"] = "MIT"
			}
		}},
	} {
		s := refunds("skill://x/SKILL.md", skilltest.File("x", test.text, test.more), "skill://unlisted/SKILL.md", skilltest.File("unlisted", "U", ""))
		s.Change = test.change
		h, ctx := open(t, "", map[string]*skilltest.Server{"docs": s}), hosttest.Watchdog(t)
		c := skills.New(h, nil)
		assert.OK(t, h.Registry().Add(c.Tools()...))
		if found, err := c.Find(ctx, "docs__x"); err == nil {
			_ = c.Accept(ctx, "ada", found)
		}
		assert.Contains(t, call(ctx, h.Registry(), "load_skill", test.name), test.want)
	}
}

// Skills of one server with one name are told apart, and a text is as long as it may be.
func TestEqualNamesAndBudget(t *testing.T) {
	s := skilltest.New(map[string]string{})
	for i := range 60 {
		s.Set(fmt.Sprintf("skill://team%d/refunds/SKILL.md", i), skilltest.File("refunds", "Pays back", ""))
	}
	h, ctx := open(t, "", map[string]*skilltest.Server{"docs": s}), hosttest.Watchdog(t)
	c, names := skills.New(h, nil), map[string]bool{}
	for _, s := range c.List(ctx, nil).Items {
		names[s.Name] = true
		assert.OK(t, c.Accept(ctx, "ada", &s))
		assert.Equal(t, assert.Value(c.Find(ctx, s.Name))(t).URI, s.URI)
	}
	assert.Equal(t, len(names), 60)
	text := c.Instructions(ctx, 1000)
	assert.True(t, len(text) <= 1000 && len(text) > 900, "%d bytes", len(text))
	assert.Contains(t, text, " more, which do not fit in here\n")
	assert.Equal(t, c.Instructions(ctx, 10), "")
}
