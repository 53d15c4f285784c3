// Tests of skills with the server of the SDK for skills.

//go:build integration && unix

package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/skills"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// What the SDK's server says of a skill is what its files say, in both families of revisions.
func TestSkillsOfTheSDK(t *testing.T) {
	folder := t.TempDir()
	for path, text := range map[string]string{
		"acme/refunds/SKILL.md":   "---\r\nname: refunds\r\ndescription: |\r\n  Pays back, \"soon\": ü\r\nmetadata:\r\n  version: 1.10\r\n  since: 2026-01-02\r\n  tags: [a, on, 0x1F, 1e3, ~, 'no']\r\nallowed-tools: Bash(git *)\r\n---\r\n# Refunds\r\n",
		"acme/refunds/forms/a.md": "A form\n", "acme/refunds/raw.bin": "\xff\x00\x01", "acme/refunds/inner/SKILL.md": "---\nname: inner\ndescription: Nested\n---\n",
	} {
		path = filepath.Join(folder, path)
		assert.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	e := entry{Command: "node", Args: []string{assert.Value(filepath.Abs("testdata/skills.mjs"))(t), nodeModules(t, "skills"), folder}}
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		ctx, c := ctxFor(t), skills.New(open(t, map[string]entry{"sdk": e}, &host.Options{Client: mcp.ClientOptions{ProtocolVersion: revision}}), nil)
		l := c.List(ctx, nil)
		assert.OK(t, l.Err())
		assert.Equal(t, len(l.Items), 2, "skills in "+revision)
		for i := range l.Items {
			for _, f := range l.Items[i].Files {
				data := assert.Value(c.Read(ctx, &l.Items[i], f.Path))(t)
				kept := assert.Value(os.ReadFile(filepath.Join(folder, "acme/refunds", map[string]string{"inner": "inner"}[l.Items[i].Skill.Skill.Name], f.Path)))(t)
				assert.Equal(t, string(data), string(kept), f.Path)
			}
			assert.OK(t, c.Accept(ctx, "ada", &l.Items[i]))
		}
		assert.Equal(t, assert.Value(c.Find(ctx, "sdk__refunds"))(t).AllowedTools(), "Bash(git *)")
	}
}
