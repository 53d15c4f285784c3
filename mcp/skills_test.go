package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/skilltest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// refunds are the files of a skill with another one in it.
func refunds() *skilltest.Server {
	return skilltest.New(map[string]string{
		"skill://acme/refunds/SKILL.md":       skilltest.File("refunds", "Pays back", "See forms/a b.md."),
		"skill://acme/refunds/forms/a%20b.md": "A form",
		"skill://acme/refunds/inner/SKILL.md": skilltest.File("inner", "Nested", ""),
		"skill://daily/SKILL.md":              skilltest.File("daily", "Live\ndynamic: yes", ""),
		"skill://unlisted/SKILL.md":           skilltest.File("unlisted", "Found by its URI", ""),
	})
}

// skillClient returns a client of a server of skills that changes its answers.
func skillClient(t *testing.T, revision string, s *skilltest.Server, change func(method string, result map[string]any)) *mcp.Client {
	s.Old, s.Change = revision < mcp.Revision20260728, change
	return newClient(t, &transport.Pipe{Serve: s.Run, MaxMessage: 32 << 20}, nil)
}

func TestSkills(t *testing.T) {
	everyRevision(t, func(t *testing.T, revision string) {
		c := skillClient(t, revision, refunds(), nil)
		var all []string
		for _, s := range assert.Value(collect(c.Skills(t.Context())))(t) {
			all = append(all, fmt.Sprint(s.Name, len(s.Files), s.Dynamic))
		}
		assert.Equal(t, strings.Join(all, " "), "refunds3 false inner1 false daily0 true")
		s := assert.Value(c.GetSkill(t.Context(), "skill://acme/refunds/SKILL.md", nil))(t)
		assert.Equal(t, string(assert.Value(c.ReadSkillFile(t.Context(), s, "forms/a b.md", nil))(t)), "A form")
		assert.Equal(t, assert.Value(c.GetSkill(t.Context(), "skill://unlisted/SKILL.md", nil))(t).Name, "unlisted")
		for _, uri := range []string{"skill://acme/refunds", "skill://nobody/SKILL.md"} {
			_, err := c.GetSkill(t.Context(), uri, nil)
			assert.Is(t, err, mcp.ErrResourceNotFound)
		}
		files := assert.Value(collect(c.ReadDirectory(t.Context(), s.Root())))(t)
		assert.Equal(t, uris(files), "skill://acme/refunds/SKILL.md")
	})
	c := newClient(t, featured(t, mcp.Revision20260728), nil) // it would refuse the requests
	_, err := c.GetSkill(t.Context(), "skill://a/SKILL.md", nil)
	assert.Is(t, err, errors.ErrUnsupported)
	assert.Equal(t, len(assert.Value(collect(c.Skills(t.Context())))(t)), 0)
	assert.Equal(t, len(assert.Value(collect(c.ReadDirectory(t.Context(), "skill://a")))(t)), 0)
}

// Each flaw costs the skill that has it, and no other.
func TestSkillsThatAreNone(t *testing.T) {
	many := func(skill string, n int) (files []any) {
		for i := range n {
			files = append(files, map[string]any{"uri": fmt.Sprintf("skill://%s/%d", skill, i), "digest": "sha256:" + strings.Repeat("0", 64), "size": 32 << 10})
		}
		return files
	}
	file := func(key string, value any) func(e map[string]any) {
		return func(e map[string]any) { e["resources"].([]any)[0].(map[string]any)[key] = value }
	}
	front := func(key string, value any) func(e map[string]any) {
		return func(e map[string]any) { e["frontmatter"].(map[string]any)[key] = value }
	}
	for want, spoil := range map[string]func(e map[string]any){
		"uri: it must be a URI that ends in the name":  front("name", "b"),
		"frontmatter: the name must be 1 to 64":        front("name", "A--b"),
		"frontmatter: the description is missing":      front("description", " "),
		"characters of a description > 1024":           front("description", strings.Repeat("é", 1025)),
		"frontmatter: got nothing, want an object":     func(e map[string]any) { delete(e, "frontmatter") },
		"resources: missing":                           func(e map[string]any) { delete(e, "resources") },
		"resources: got a string, want an array":       func(e map[string]any) { e["resources"] = "live" },
		"files of a skill > 512":                       func(e map[string]any) { e["resources"] = many("a", 10_000) },
		"resources: there is no SKILL.md":              func(e map[string]any) { e["resources"] = many("a", 512) },
		"the file is listed twice":                     func(e map[string]any) { e["resources"] = append(e["resources"].([]any), e["resources"].([]any)[0]) },
		"bytes of a skill > 16777216":                  file("size", 16<<20+1),
		"size: missing":                                file("size", -1),
		"digest: it must be sha256":                    file("digest", "sha256:"+strings.Repeat("A", 64)),
		"it lies outside of the skill":                 file("uri", "skill://ab/SKILL.md"),
		`".." is no name of a file`:                    file("uri", "skill://a/x/../../b/SKILL.md"),
		`"%2e%2E" is no name of a file`:                file("uri", "skill://a/%2e%2E/SKILL.md"),
		`"x%2f..%5cy" is no name of a file`:            file("uri", "skill://a/x%2f..%5cy"),
		"depth of a skill > 32":                        file("uri", "skill://a"+strings.Repeat("/d", 33)),
		"uri: it must be a URI that ends in the name ": func(e map[string]any) { e["uri"] = "a/SKILL.md" },
	} {
		s := skilltest.New(map[string]string{"skill://a/SKILL.md": skilltest.File("a", "A", ""), "skill://z/SKILL.md": skilltest.File("z", "Z", "")})
		c := skillClient(t, mcp.Revision20260728, s, func(method string, result map[string]any) {
			if all, ok := result["skills"].([]any); ok {
				spoil(all[0].(map[string]any))
				files := many("z", 512) // 16 MiB, which is not too much
				files[0].(map[string]any)["uri"] = "skill://z/SKILL.md"
				all[1].(map[string]any)["resources"] = files
			}
		})
		all := assert.Value(collect(c.Skills(t.Context())))(t)
		assert.Equal(t, len(all), 1, "skills beside: %s", want)
		problems := c.ListProblems()
		if assert.Equal(t, len(problems), 1, "problems: %s", want); len(problems) == 1 {
			assert.Contains(t, problems[0].Err.Error(), strings.TrimSpace(want))
		}
	}
}

// A file is given to nobody whose bytes are not those of the entry.
func TestSkillFileIsVerified(t *testing.T) {
	s := refunds()
	var contents []any
	c := skillClient(t, mcp.Revision20260728, s, func(method string, result map[string]any) {
		if method == "resources/read" && contents != nil {
			result["contents"] = contents
		}
	})
	skill := assert.Value(c.GetSkill(t.Context(), "skill://acme/refunds/SKILL.md", nil))(t)
	live := assert.Value(c.GetSkill(t.Context(), "skill://daily/SKILL.md", nil))(t)
	text := func(text string) any {
		return map[string]any{"uri": "skill://acme/refunds/forms/a%20b.md", "text": text}
	}
	for _, test := range []struct {
		skill      *mcp.Skill
		path, want string
		contents   []any
	}{
		{skill, "forms/a b.md", "its digest is not that", []any{text("a FORM")}},
		{skill, "forms/a b.md", "it has 7 bytes, the skill says 6", []any{text("A form!")}},
		{skill, "forms/a b.md", "there are 2 contents, not one", []any{text("A form"), text("A form")}},
		{live, "SKILL.md", "limit exceeded: bytes of a skill > 16777216", []any{text(strings.Repeat("x", 16<<20+1))}},
	}[:assert.Cases(3, 4)] { // the last one takes half a gigabyte
		contents = test.contents
		_, err := c.ReadSkillFile(t.Context(), test.skill, test.path, nil)
		assert.Contains(t, assert.As[*mcp.ProtocolError](t, err, test.want).Error(), test.want)
	}
	for _, path := range []string{"forms/new.md", "../other/SKILL.md"} {
		for _, of := range []*mcp.Skill{skill, live} {
			_, err := c.ReadSkillFile(t.Context(), of, path, nil)
			assert.Is(t, err, mcp.ErrResourceNotFound)
			assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent)
		}
	}
	contents = nil
	assert.Contains(t, string(assert.Value(c.ReadSkillFile(t.Context(), live, mcp.SkillFile, nil))(t)), "name: daily")
}

func ExampleClient_Skills() {
	ctx := context.Background()
	c := mcp.NewClient("library", library(), nil) // which has none
	defer c.Close()
	for s, err := range c.Skills(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		text, err := c.ReadSkillFile(ctx, s, mcp.SkillFile, nil)
		fmt.Println(s.Name, len(text), err)
	}
	_, err := c.GetSkill(ctx, "skill://refunds/SKILL.md", nil)
	fmt.Println(errors.Is(err, errors.ErrUnsupported))
	for r := range c.ReadDirectory(ctx, "skill://refunds") {
		fmt.Println(r.URI)
	}
	fmt.Println(mcp.CheckSkill("Refunds", "Pays back"))
	// Output:
	// true
	// the name must be 1 to 64 of a-z, 0-9 and single hyphens between them
}
