package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRepository returns a repository with a core and two other modules: heavy imports
// the core's package tool, which imports brick, and in its test the core's package kit;
// light imports the module heavy, and nothing of the core itself.
func newRepository() fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range map[string]string{
		"allmodules":              "# folders\n.\tthe core\nheavy\tit has an SDK\nheavy/light\tit has none\n",
		".ci/module":              "go test ./...",
		".ci/goflags":             "exit 1",
		".ci/tool":                "staticcheck",
		"go.mod":                  "module " + repository,
		"go.sum":                  "",
		"README.md":               "# core",
		"brick/brick.go":          "package brick\n",
		"brick/brick_linux.go":    "//go:build linux\n\npackage brick\n",
		"tool/tool.go":            "package tool\n\nimport _ \"" + repository + "/brick\"\n",
		"tool/tool_test.go":       "package tool\n",
		"tool/page/page.html":     "page",
		"tool/testdata/fuzz/seed": "seed",
		"tool/other/other.go":     "package other\n",
		"kit/kit.go":              "package kit\n\nimport _ \"embed\"\n\n//go:embed testdata\nvar files string\n",
		"kit/testdata/a.go":       "no Go at all",
		"unused/unused.go":        "package unused\n",
		"heavy/go.mod":            "module " + repository + "/heavy",
		"heavy/go.sum":            "",
		"heavy/heavy.go":          "package heavy\n\nimport _ \"" + repository + "/tool\"\n",
		"heavy/heavy_test.go":     "package heavy\n\nimport _ \"" + repository + "/kit\"\n",
		"heavy/testdata/data":     "data",
		"heavy/node_modules/x/y":  "",
		"heavy/light/go.mod":      "module " + repository + "/heavy/light",
		"heavy/light/light.go":    "package light\n\nimport _ \"" + repository + "/heavy\"\n",
		"internal/release/testdata/heavy_light/main.go": "package main\n",
		"internal/layers/testdata/api.golden":           "# API\nbrick: func Brick()\nheavy: func Heavy()\n",
		"internal/layers/testdata/adapters.golden":      "light example.com/x v1.0.0",
		"heavy/light/light_big.go":                      "//go:build big\n\npackage light\n\nimport _ \"" + repository + "/tool/other\"\n",
	} {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func hashesOf(t *testing.T, fsys fstest.MapFS, release string) hashes {
	t.Helper()
	return assert.Value(hashModules(fsys, release))(t)
}

func TestWhatChangesAModule(t *testing.T) {
	before := hashesOf(t, newRepository(), "go1.26")
	assert.Equal(t, fmt.Sprintf("%q", slices.Sorted(maps.Keys(before))), `["heavy" "heavy/light"]`)
	both, heavy, light := []string{"heavy", "heavy/light"}, []string{"heavy"}, []string{"heavy/light"}
	for name, want := range map[string][]string{
		"README.md":                nil,
		"unused/unused.go":         nil,
		"unused/new.go":            nil,
		"tool/tool_test.go":        nil,
		"tool/new_test.go":         nil,
		"tool/testdata/fuzz/seed":  nil,
		"heavy/node_modules/x/y":   nil,
		"heavy/heavy.test":         nil,
		"go.sum":                   nil,
		".ci/module":               both,
		".ci/tool":                 both,
		"go.mod":                   both,
		"tool/tool.go":             both,
		"tool/new.go":              both,
		"tool/page/page.html":      both,
		"brick/brick.go":           both,
		"brick/brick_linux.go":     both,
		"heavy/heavy.go":           both,
		"heavy/go.mod":             both,
		"kit/kit.go":               heavy,
		"kit/testdata/a.go":        heavy,
		"heavy/heavy_test.go":      heavy,
		"heavy/new_test.go":        heavy,
		"heavy/go.sum":             heavy,
		"heavy/testdata/data":      heavy,
		"tool/other/other.go":      light,
		"heavy/light/light.go":     light,
		"heavy/light/testdata/new": light,
		"internal/release/testdata/heavy_light/main.go": light,
		"internal/release/testdata/heavy/main.go":       heavy,
	} {
		fsys := newRepository()
		text := "package new\n"
		if old := fsys[name]; old != nil {
			text = string(old.Data) + "\n// changed\n"
		}
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
		assert.Equal(t, fmt.Sprintf("%q", hashesOf(t, fsys, "go1.26").compare(before, false)), fmt.Sprintf("%q", want), "after a change of %s", name)
	}
	assert.Equal(t, fmt.Sprintf("%q", hashesOf(t, newRepository(), "go1.27").compare(before, false)), fmt.Sprintf("%q", both), "with another release of Go")
}

func TestGoldenLinesChangeTheirModule(t *testing.T) {
	before := hashesOf(t, newRepository(), "go1.26")
	const name = "internal/layers/testdata/api.golden"
	for line, want := range map[string][]string{
		"brick: func New()":         nil,
		"heavy: func New()":         {"heavy"},
		"heavy/sub: func New()":     {"heavy"},
		"heavy/light: func New()":   {"heavy/light"},
		"heavy/light [windows]: x":  {"heavy/light"},
		"heavyweight: func Brick()": nil,
	} {
		fsys := newRepository()
		fsys[name] = &fstest.MapFile{Data: []byte(string(fsys[name].Data) + line + "\n")}
		assert.Equal(t, fmt.Sprintf("%q", hashesOf(t, fsys, "go1.26").compare(before, false)), fmt.Sprintf("%q", want), "with the line %q", line)
	}
}

func TestRemovedAndRenamedFilesChangeAModule(t *testing.T) {
	before := hashesOf(t, newRepository(), "go1.26")
	removed := newRepository()
	delete(removed, "tool/page/page.html")
	renamed := newRepository()
	renamed["brick/other.go"] = renamed["brick/brick.go"]
	delete(renamed, "brick/brick.go")
	for what, fsys := range map[string]fstest.MapFS{"removed": removed, "renamed": renamed} {
		assert.Equal(t, len(hashesOf(t, fsys, "go1.26").compare(before, false)), 2, "after a file was %s", what)
	}
}

func TestRecord(t *testing.T) {
	now := hashesOf(t, newRepository(), "go1.26")
	recorded := parseHashes(now.format())
	assert.Equal(t, fmt.Sprint(recorded), fmt.Sprint(now))
	assert.Equal(t, fmt.Sprint(now.compare(recorded, false)), "[]", "changed since the record")
	assert.Equal(t, len(now.compare(recorded, true)), 2, "the same since the record")
	assert.Equal(t, len(now.compare(parseHashes(nil), false)), 2, "changed without a record")
	delete(recorded, "heavy")
	assert.Equal(t, fmt.Sprintf("%q", now.compare(recorded, false)), `["heavy"]`, "a module that was not recorded")
}

func TestRelease(t *testing.T) {
	for version, want := range map[string]string{"go1.26.8": "go1.26", "go1.27": "go1.27", "devel": "devel"} {
		assert.Equal(t, release(version), want, "release(%q)", version)
	}
}

func TestModulesAreUnknown(t *testing.T) {
	fsys := newRepository()
	delete(fsys, "allmodules")
	assert.Fails(t, assert.Err(hashModules(fsys, "go1.26")), "without the file allmodules")
}
