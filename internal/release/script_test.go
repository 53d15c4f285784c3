//go:build release

package release

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// tiny is the root of a repository for tests. Its host is one that the go command knows,
// so that it looks nothing up.
const tiny = "github.com/mcpbelt/tiny"

// goMod is a go.mod file of that repository, in which the modules of some folders are
// required, and replaced by these.
func goMod(folder, version string, required ...string) string {
	path := func(folder string) string { return strings.TrimSuffix(tiny+"/"+folder, "/.") }
	text := "module " + path(folder) + "\n\ngo 1.26.0\n"
	for _, r := range required {
		text += "\nrequire " + path(r) + " " + version + " // indirect\n\nreplace " + path(r) + " => ../" + r + "\n"
	}
	return text
}

// A repository is a clone with five modules: the program d requires b and c, which require
// a, which requires the root.
type repository struct{ command }

func newRepository(t *testing.T) repository {
	t.Helper()
	script := assert.Value(os.ReadFile(root + "/.ci/release"))(t)
	r := repository{command{t.TempDir(), []string{
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost",
	}}}
	write(t, r.dir, map[string]string{
		".ci/release":  string(script),
		"allmodules":   "# Folders.\nd\tneeds all\nc\nb\na\n.\tthe root\n",
		"CHANGELOG.md": "# Changes\n\n## Unreleased\n\n## v1.2.0\n\nThe first.\n\n## v1.1.0\n\n## v1.0.0\n\nOld.\n",
		"LICENSE":      "Free.\n",
		"go.mod":       goMod(".", ""),
		"root.go":      "package tiny\n",
		"a/go.mod":     goMod("a", "v1.2.0", "."),
		"b/go.mod":     goMod("b", "v1.2.0", ".", "a"),
		"c/go.mod":     goMod("c", "v1.2.0", ".", "a"),
		"d/go.mod":     goMod("d", "v1.2.0", ".", "a", "b", "c"),
		"d/d.go":       "package main\n\nfunc main() {}\n",
	})
	assert.OK(t, os.Chmod(filepath.Join(r.dir, ".ci", "release"), 0o755))
	r.run(t, "git", "init", "-q", "-b", "main")
	r.commit(t)
	return r
}

func (r repository) commit(t *testing.T) {
	t.Helper()
	r.run(t, "git", "add", "-A")
	r.run(t, "git", "commit", "-q", "-m", "x")
}

// release runs the script, from elsewhere.
func (r repository) release(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return command{t.TempDir(), r.env}.output(t, filepath.Join(r.dir, ".ci", "release"), args...)
}

func (r repository) tags(t *testing.T) []string {
	t.Helper()
	return strings.Fields(r.run(t, "git", "tag", "--sort=creatordate", "--list"))
}

func TestScriptBuildsAProxy(t *testing.T) {
	r, proxy := newRepository(t), filepath.Join(t.TempDir(), "new")
	out, errs, err := r.release(t, "-proxy", proxy, "v1.2.0")
	assert.OK(t, err, "%s", errs)
	want := "tag v1.2.0\ntag a/v1.2.0\ntag c/v1.2.0\ntag b/v1.2.0\ntag d/v1.2.0\nproxy " + proxy
	assert.Equal(t, out, want, "the output")
	assert.Equal(t, strings.Join(r.tags(t), " "), "", "tags of the clone")
	for _, folder := range []string{"", "/a", "/b", "/c", "/d"} {
		for _, file := range []string{"list", "v1.2.0.info", "v1.2.0.mod", "v1.2.0.zip"} {
			assert.Value(os.Stat(filepath.Join(proxy, filepath.FromSlash(tiny+folder), "@v", file)))(t)
		}
	}
	tops, _ := filepath.Glob(filepath.Join(proxy, "*", "*", "*"))
	assert.Equal(t, len(tops), 1)
}

func TestScriptMakesTags(t *testing.T) {
	r := newRepository(t)
	out, errs, err := r.release(t, "-tag", "v1.2.0")
	assert.OK(t, err, "%s", errs)
	assert.True(t, strings.HasSuffix(out, "\ngit push --atomic origin main v1.2.0 a/v1.2.0 c/v1.2.0 b/v1.2.0 d/v1.2.0"))
	assert.Equal(t, len(r.tags(t)), 5)
	assert.Equal(t, r.run(t, "git", "cat-file", "-t", "refs/tags/d/v1.2.0"), "tag", "a")
	// The program of the tags can be installed; the clone and its branch are as before.
	mod, sums := r.run(t, "git", "show", "d/v1.2.0:d/go.mod"), r.run(t, "git", "show", "d/v1.2.0:d/go.sum")
	assert.Lacks(t, mod, "replace")
	assert.Equal(t, strings.Count(mod, "v1.2.0"), 4)
	assert.ContainsAll(t, sums, tiny+" v1.2.0 h1:", tiny+"/a v1.2.0 h1:", tiny+"/c v1.2.0/go.mod h1:")
	assert.Equal(t, r.run(t, "git", "diff", "--name-only", "main", "d/v1.2.0"), "d/go.mod\nd/go.sum", "changes of in the tagged commit")
	assert.Equal(t, r.run(t, "git", "rev-parse", "d/v1.2.0^{commit}^"), r.run(t, "git", "rev-parse", "HEAD"), "as the commit before that of the tags")
	assert.Equal(t, r.run(t, "git", "status", "--porcelain"), "", "the status")
	_, errs, err = r.release(t, "-tag", "v1.2.0")
	assert.Fails(t, err)
	assert.Contains(t, errs, "the tag d/v1.2.0 exists: choose the next version")
}

func TestScriptWritesRequirements(t *testing.T) {
	r := newRepository(t)
	_, errs, err := r.release(t, "-require", "v1.3.0-rc.1")
	assert.OK(t, err, "%s", errs)
	assert.Equal(t, fmt.Sprintf("%q", strings.Fields(r.run(t, "git", "diff", "--name-only"))), `["a/go.mod" "b/go.mod" "c/go.mod" "d/go.mod"]`)
	diff := r.run(t, "git", "diff", "-U0", "a/go.mod")
	assert.Equal(t, diff[strings.LastIndex(diff, "\n")+1:], "+require "+tiny+" v1.3.0-rc.1 // indirect")
}

// A trial takes the files as they stand, and leaves them and the clone as they are.
func TestScriptTries(t *testing.T) {
	r, proxy := newRepository(t), t.TempDir()
	write(t, r.dir, map[string]string{"a/new.go": "package a\n"})
	assert.OK(t, os.Remove(filepath.Join(r.dir, "d", "d.go")))
	before := r.run(t, "git", "status", "--porcelain")
	_, errs, err := r.release(t, "-proxy", proxy, "-trial", "v1.9.0-test.x")
	assert.OK(t, err, "%s", errs)
	assert.Equal(t, r.run(t, "git", "status", "--porcelain"), before)
	assert.Equal(t, strings.Join(r.tags(t), " "), "", "tags of the clone")
	c := command{t.TempDir(), []string{
		"GOPROXY=file://" + filepath.ToSlash(proxy), "GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=",
		"GOFLAGS=-modcacherw", "GOMODCACHE=" + t.TempDir(),
	}}
	c.run(t, "go", "mod", "download", tiny+"/a@v1.9.0-test.x", tiny+"/d@latest")
	cache := strings.TrimPrefix(c.env[len(c.env)-1], "GOMODCACHE=")
	files, _ := filepath.Glob(filepath.Join(cache, filepath.FromSlash(tiny), "*@v1.9.0-test.x", "*"))
	for i := range files {
		files[i] = filepath.ToSlash(strings.TrimPrefix(files[i], filepath.Join(cache, filepath.FromSlash(tiny))+string(filepath.Separator)))
	}
	if want := []string{
		"a@v1.9.0-test.x/LICENSE", "a@v1.9.0-test.x/go.mod", "a@v1.9.0-test.x/new.go",
		"d@v1.9.0-test.x/LICENSE", "d@v1.9.0-test.x/go.mod",
	}; !slices.Equal(files, want) {
		t.Errorf("got files %q, want %q", files, want)
	}
}

func TestScriptRefuses(t *testing.T) {
	const foreign = "\nrequire example.com/x v1.0.0\n\nreplace example.com/x => ../x\n"
	unchanged := newRepository(t)
	for _, tt := range []struct {
		name  string
		args  string            // of the script
		files map[string]string // what is committed beside what there is
		git   string            // a command before
		want  string
	}{
		{name: "no version", want: "usage: .ci/release [-require | -tag | [-proxy DIR] [-trial]] VERSION"},
		{name: "unknown flag", args: "-force v1.2.0", want: "usage: .ci/release [-require | -tag | [-proxy DIR] [-trial]] VERSION"},
		{name: "two modes", args: "-tag -require v1.2.0", want: "usage: .ci/release [-require | -tag | [-proxy DIR] [-trial]] VERSION"},
		{name: "without v", args: "1.2.0", want: "1.2.0 is not a version: write it as v1.2.3 or v1.2.3-rc.1"},
		{name: "two numbers", args: "v1.2", want: "v1.2 is not a version: write it as v1.2.3 or v1.2.3-rc.1"},
		{name: "leading zero", args: "v1.2.0-rc.01", want: "v1.2.0-rc.01 is not a version: write it as v1.2.3 or v1.2.3-rc.1"},
		{name: "build metadata", args: "v1.2.0+x", want: "v1.2.0+x is not a version: write it as v1.2.3 or v1.2.3-rc.1"},
		{name: "second major version", args: "v2.0.0", want: "v2.0.0 needs other paths of modules: from v2 on they end in /v2"},
		{
			name: "no section", args: "v1.2.0", files: map[string]string{"CHANGELOG.md": "# Changes\n\n## v1.2.0-rc.1\n\nAll.\n"},
			want: "CHANGELOG.md has no section for the version: write one that begins with ## v1.2.0",
		},
		{
			name: "empty section", args: "v1.2.0", files: map[string]string{"CHANGELOG.md": "# Changes\n\n## v1.2.0\n\n## v1.1.0\n\nOld.\n"},
			want: "CHANGELOG.md has an empty section for v1.2.0: write what users get",
		},
		{
			name: "other requirement", args: "v1.2.0", files: map[string]string{"c/go.mod": goMod("c", "v1.1.0", "a")},
			want: "c/go.mod requires " + tiny + "/a v1.1.0: run .ci/release -require v1.2.0, and commit",
		},
		{
			name: "unlisted module", args: "v1.2.0", files: map[string]string{"c/go.mod": goMod("c", "v1.2.0", "e")},
			want: "c/go.mod replaces " + tiny + "/e, and users do not get what replaces it: require a version that needs no replace",
		},
		{
			name: "unlisted module that is not replaced", args: "v1.2.0",
			files: map[string]string{"c/go.mod": goMod("c", "") + "\nrequire (\n\t" + tiny + "/e v1.2.0\n)\n"},
			want:  "c/go.mod requires " + tiny + "/e, which the file allmodules does not list: add it there, or remove the requirement",
		},
		{
			name: "foreign replacement", args: "v1.2.0", files: map[string]string{"c/go.mod": goMod("c", "v1.2.0", "a") + foreign},
			want: "c/go.mod replaces example.com/x, and users do not get what replaces it: require a version that needs no replace",
		},
		{
			name: "no go.mod", args: "v1.2.0", files: map[string]string{"allmodules": ".\nf\n"},
			want: "f/go.mod does not exist: take f out of the file allmodules",
		},
		{
			name: "circle", args: "v1.2.0", files: map[string]string{"a/go.mod": goMod("a", "v1.2.0", ".", "d")},
			want: tiny + "/d requires itself by way of other modules: remove one of the requirements",
		},
		{
			name: "dirty tree", args: "v1.2.0", git: "rm -q LICENSE",
			want: "the tree has changes that are not committed: commit or remove LICENSE",
		},
		{
			name: "existing tag", args: "v1.2.0", git: "tag b/v1.2.0",
			want: "the tag b/v1.2.0 exists: choose the next version, or remove the tag with git tag -d b/v1.2.0 if it was not pushed",
		},
		{
			name: "other branch", args: "-tag v1.2.0", git: "switch -q -c next",
			want: "the branch is next, and releases are made on main: run git switch main",
		},
		{
			name: "proxy that is not empty", args: "-proxy / v1.2.0",
			want: "/ is not empty: choose a folder that is new or empty",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := unchanged
			if tt.files != nil || tt.git != "" {
				r = newRepository(t)
			}
			if tt.files != nil {
				write(t, r.dir, tt.files)
				r.commit(t)
			}
			if tt.git != "" {
				r.run(t, "git", strings.Fields(tt.git)...)
			}
			before := r.tags(t)
			out, errs, err := r.release(t, strings.Fields(tt.args)...)
			assert.Fails(t, err, "the output %q", out)
			assert.Equal(t, [...]string{errs, fmt.Sprintf("%q", r.tags(t))}, [...]string{"FAILED: " + tt.want, fmt.Sprintf("%q", before)})
		})
	}
}
