package skills_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/skills"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/skilltest"
)

func TestFolders(t *testing.T) {
	other := folder(t, "secret.md", "Secret")
	own := folder(t, "a/SKILL.md", strings.ReplaceAll(skilltest.File("a", "A", "Text"), "\n", "\r\n"), "a/x/f.md", "F",
		"team/b/SKILL.md", skilltest.File("b", "B", ""), "z/a/SKILL.md", skilltest.File("a", "Again", ""),
		"c/SKILL.md", "no front matter", "d/SKILL.md", skilltest.File("e", "E", ""), "f/SKILL.md", "---\nname: f\n---\n",
		"g/SKILL.md", "---\n- name\n---\n", "h/SKILL.md", "---\nname: [\n---\n", "k/SKILL.md", "---\nname: 1\ndescription: K\n---\n")
	assert.OK(t, os.Symlink(filepath.Join(other, "secret.md"), filepath.Join(own, "a", "link.md")))
	ctx := hosttest.Watchdog(t)
	c := skills.New(open(t, "", map[string]*skilltest.Server{}), &skills.Options{Folders: []string{own, filepath.Join(own, "nowhere")}})
	l := c.List(ctx, nil)
	assert.Equal(t, len(l.Items), 2)
	assert.Equal(t, l.Items[0].Name+" "+l.Items[1].Name, "a b")
	for file, want := range map[string]string{
		"z/a/SKILL.md": "the name a is that of the skill in", "c/SKILL.md": "does not begin with front matter", "d/SKILL.md": "they must be the same",
		"f/SKILL.md": "the description is missing", "g/SKILL.md": "is no object", "h/SKILL.md": "its front matter: ", "k/SKILL.md": "which are texts", "nowhere": "no such file",
	} {
		if err := l.Errors[filepath.Join(own, file)]; err == nil {
			t.Errorf("%s: got no error, want %s", file, want)
		} else {
			assert.Contains(t, err.Error(), want)
		}
	}
	assert.Equal(t, string(assert.Value(c.Read(ctx, &l.Items[0], "x/f.md"))(t)), "F")
	for _, path := range []string{"link.md", "../team/b/SKILL.md", filepath.Join(own, "b/SKILL.md"), "x", "none"} {
		_, err := c.Read(ctx, &l.Items[0], path)
		assert.Fails(t, err, path)
	}
}
