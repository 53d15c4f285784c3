package layers

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/adaptertest/results"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const (
	adaptersBegin = "<!-- Written by make adapters from docs/adapters/results. -->\n"
	adaptersEnd   = "<!-- End of what make adapters writes. -->\n"

	linkedHeading = "Modules that a program links with each adapter."
)

// toolless are the adapters that give no framework tools, each with the reason.
// They need a page, and have no results.
var toolless = map[string]string{
	"otel": "it tells of calls, and makes none",
}

// An adapterRow is what is known of an adapter.
type adapterRow struct {
	name   string
	page   bool
	runs   []results.Record
	mod    goMod
	linked int // modules that a program links
	extra  int // those of them that the core does not link
}

// framework returns the module that the adapter is for, and its version.
func (r *adapterRow) framework() (path, version string) {
	for _, run := range r.runs {
		path = run.Framework
	}
	for _, m := range r.mod.Require {
		if m.Path == path {
			version = m.Version
		}
	}
	return path, version
}

// check finds what is missing or contradicts itself.
func (r *adapterRow) check(checks [][2]string) []string {
	var problems []string
	say := func(format string, args ...any) {
		problems = append(problems, "adapters/"+r.name+": "+fmt.Sprintf(format, args...))
	}
	if !r.page {
		say("there is no page docs/adapters/%s.md", r.name)
	}
	if toolless[r.name] != "" {
		if len(r.runs) > 0 {
			say("it has results, although %s", toolless[r.name])
		}
		return problems
	}
	if len(r.runs) == 0 {
		say("there are no results in docs/adapters/results: run make adapters")
		return problems
	}
	framework, version := r.framework()
	if version == "" {
		say("its go.mod does not require the framework %q", framework)
	}
	known := map[string]bool{}
	for _, c := range checks {
		known[c[0]] = true
	}
	for _, run := range r.runs {
		if run.Framework != framework {
			say("%s is a runtime of %s, others are of %s", run.Runtime, run.Framework, framework)
		}
		if run.Interrupt == "" {
			say("%s does not say what a program gets when a call waits", run.Runtime)
		}
		for name := range known {
			if run.Checks[name] == "" {
				say("%s has not passed %q", run.Runtime, name)
			}
		}
		for name, came := range run.Checks {
			switch {
			case !known[name]:
				say("%s has results for %q, which is no check", run.Runtime, name)
			case came == "no":
				say("%s fails %q", run.Runtime, name)
			case strings.ContainsAny(came, "|\n"):
				say("%s: the reason for %q does not fit a table", run.Runtime, name)
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// adapterChecks returns the names of the checks of package adaptertest, and what they are called in the table, in
// order.
func adapterChecks(t *testing.T) (checks [][2]string) {
	text := func(e ast.Expr) string {
		lit, ok := e.(*ast.BasicLit)
		assert.True(t, ok, "a text")
		return assert.Value(strconv.Unquote(lit.Value))(t)
	}
	repository(t).pkgs["internal/adaptertest"].file("checks.go").eachFunction(func(name string, body ast.Node) {
		if name != "checks" {
			return
		}
		ast.Inspect(body, func(n ast.Node) bool {
			if row, ok := n.(*ast.CompositeLit); ok && row.Type == nil {
				checks = append(checks, [2]string{text(row.Elts[0]), text(row.Elts[1])})
			}
			return true
		})
	})
	assert.True(t, len(checks) > 20, "%d checks", len(checks))
	return checks
}

// label names a runtime in the table.
func label(run *results.Record) string { return run.Adapter + ", " + run.Runtime }

// adapterTable writes the generated part of docs/adapters.md.
func adapterTable(rows []*adapterRow, checks [][2]string) string {
	var b strings.Builder
	b.WriteString("| adapter | framework | version | modules linked | beyond the core's |\n|---|---|---|--:|--:|\n")
	for _, r := range rows {
		framework, version := r.framework()
		name := "`" + framework + "`"
		if framework == "" {
			name, version = "–", "–"
		}
		fmt.Fprintf(&b, "| [%s](adapters/%s.md) | %s | %s | %d | %d |\n", r.name, r.name, name, version, r.linked, r.extra)
	}
	b.WriteString("\n| runtime | a call that waits | a changed list is seen | calls of a message | images |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		for i := range r.runs {
			run := &r.runs[i]
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", label(run), run.Interrupt,
				either(run.Fixed, "by a new agent", "by the next turn"),
				either(run.InOrder, "one by one", "at the same time"),
				either(run.TextOnly, "a line of text", "as images"))
		}
	}
	b.WriteString("\n| runtime |")
	for _, c := range checks {
		b.WriteString(" " + c[1] + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat(":-:|", len(checks)) + "\n")
	var notes []string
	for _, r := range rows {
		for i := range r.runs {
			run := &r.runs[i]
			b.WriteString("| " + label(run) + " |")
			for _, c := range checks {
				cell := "✓"
				if came := run.Checks[c[0]]; came != "yes" {
					if !slices.Contains(notes, came) {
						notes = append(notes, came)
					}
					cell = fmt.Sprintf("– (%d)", slices.Index(notes, came)+1)
				}
				b.WriteString(" " + cell + " |")
			}
			b.WriteString("\n")
		}
	}
	for i, note := range notes {
		fmt.Fprintf(&b, "%s%d. %s\n", either(i == 0, "\n", ""), i+1, note)
	}
	return b.String()
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// readResults returns the kept results by adapter, and what is wrong with the files.
func readResults(t *testing.T) (map[string][]results.Record, []string) {
	t.Helper()
	const folder = "docs/adapters/results"
	files := assert.Value(filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*")))(t)
	runs := map[string][]results.Record{}
	var problems []string
	for _, file := range files {
		var run results.Record
		base := filepath.Base(file)
		strictJSON(t, path.Join(folder, base), &run)
		if want := run.Adapter + "-" + run.Runtime + ".json"; base != want {
			problems = append(problems, fmt.Sprintf("%s/%s holds what belongs into %s", folder, base, want))
			continue
		}
		runs[run.Adapter] = append(runs[run.Adapter], run)
	}
	return runs, problems
}

// adapterNames returns the adapters that allmodules lists, in order.
func adapterNames(modules []string) []string {
	var names []string
	for _, m := range modules {
		if name, ok := strings.CutPrefix(m, "adapters/"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// strangers finds results and pages that are of no adapter.
func strangers(names, results, pages []string) []string {
	var problems []string
	for _, r := range results {
		if !slices.Contains(names, r) {
			problems = append(problems, fmt.Sprintf("docs/adapters/results has results of %q, which is no adapter in allmodules", r))
		}
	}
	for _, p := range pages {
		if p != recipesPage && !slices.Contains(names, p) {
			problems = append(problems, fmt.Sprintf("docs/adapters/%s.md is the page of no adapter in allmodules", p))
		}
	}
	return problems
}

// adapterPages returns the names of the pages in docs/adapters, without their ending.
func adapterPages(t *testing.T) []string {
	t.Helper()
	files := assert.Value(filepath.Glob(filepath.Join(root, "docs", "adapters", "*.md")))(t)
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".md"))
	}
	return names
}

// linkedBy counts the modules in the golden file of each adapter, and those of them
// that the core does not link.
func linkedBy(adapters, core []byte) (linked, extra map[string]int) {
	own := map[string]bool{}
	for line := range strings.Lines(string(core)) {
		if fields := strings.Fields(line); len(fields) == 2 && !strings.HasPrefix(line, "#") {
			own[fields[0]] = true
		}
	}
	linked, extra = map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(adapters)) {
		if fields := strings.Fields(line); len(fields) == 3 && !strings.HasPrefix(line, "#") {
			linked[fields[0]]++
			if !own[fields[1]] {
				extra[fields[0]]++
			}
		}
	}
	return linked, extra
}

// TestAdapterModules keeps the list of what a program links with each adapter. It
// looks at the adapters among the modules of the flag -modules. `make adapters`
// writes the list.
func TestAdapterModules(t *testing.T) {
	var lines []string
	loaded := adapterNames(loadedModules(t))
	if *update && *modulesFlag != "all" {
		t.Fatal("-update writes what all adapters link: run make adapters")
	}
	for _, name := range loaded {
		linked := map[string]bool{}
		for _, p := range goList(t, "adapters/"+name, "linux", "-deps", ".") {
			if p.Module == nil {
				continue
			}
			if p.Module.Path != module && !strings.HasPrefix(p.Module.Path, module+"/") {
				linked[p.Module.Path+" "+p.Module.Version] = true
				continue // some SDKs import testing themselves
			}
			assert.False(t, slices.ContainsFunc(p.Imports, forTests), "adapters/%s links %s, with imports for tests: %q", name, p.ImportPath, p.Imports)
		}
		for m := range linked {
			lines = append(lines, name+" "+m)
		}
	}
	golden(t, "adapters.golden", linkedHeading, lines, func(line string) (string, bool) {
		name, _, _ := strings.Cut(line, " ")
		return line, slices.Contains(loaded, name)
	})
}

// TestAdapterTable holds docs/adapters.md against the results of the adapters. With
// -update it writes the tables.
func TestAdapterTable(t *testing.T) {
	names, checks := adapterNames(allModules(t)), adapterChecks(t)
	runs, problems := readResults(t)
	pages := adapterPages(t)
	problems = append(problems, strangers(names, slices.Sorted(maps.Keys(runs)), pages)...)
	var golds [2][]byte
	for i, name := range []string{"adapters.golden", "deps.golden"} {
		data := assert.Value(os.ReadFile(filepath.Join("testdata", name)))(t)
		golds[i] = data
	}
	linked, extra := linkedBy(golds[0], golds[1])
	var rows []*adapterRow
	for _, name := range names {
		r := &adapterRow{
			name: name, page: slices.Contains(pages, name), runs: runs[name],
			mod: readGoMod(t, "adapters/"+name), linked: linked[name], extra: extra[name],
		}
		slices.SortFunc(r.runs, func(a, b results.Record) int { return cmp.Compare(a.Runtime, b.Runtime) })
		problems = append(problems, r.check(checks)...)
		rows = append(rows, r)
	}
	report(t, problems)

	file := filepath.Join(root, "docs", "adapters.md")
	text := assert.Value(os.ReadFile(file))(t)
	want, ok := replaceBetween(string(text), adaptersBegin, adaptersEnd, adapterTable(rows, checks))
	switch {
	case !ok:
		t.Errorf("docs/adapters.md has no place for the tables: the lines\n%s%s", adaptersBegin, adaptersEnd)
	case *update && string(text) != want:
		assert.OK(t, os.WriteFile(file, []byte(want), 0o644))
	case string(text) != want:
		t.Error("the tables in docs/adapters.md are not what the results give: run make adapters")
	}
}

func TestAdapterTableSeesProblems(t *testing.T) {
	checks := adapterChecks(t)
	run := func(runtime string) results.Record {
		r := results.Record{Adapter: "a", Runtime: runtime, Framework: "example.com/f", Interrupt: "an error", Checks: map[string]string{}}
		for _, c := range checks {
			r.Checks[c[0]] = "yes"
		}
		return r
	}
	var mod goMod
	mod.Require = append(mod.Require, required{Path: "example.com/f", Version: "v1.2.3"})
	good := &adapterRow{name: "a", page: true, runs: []results.Record{run("Loop"), run("Node")}, mod: mod, linked: 20, extra: 7}
	good.runs[0].Checks["image"] = "it has no eyes"
	good.runs[1].Checks["image"] = "it has no eyes"
	good.runs[1].Checks["login"] = "it has no door"
	good.runs[1].Fixed, good.runs[1].InOrder, good.runs[1].TextOnly = true, true, true
	expect(t, good.check(checks))
	table := adapterTable([]*adapterRow{good, {name: "otel", page: true}}, checks)
	for _, want := range []string{
		"| [a](adapters/a.md) | `example.com/f` | v1.2.3 | 20 | 7 |\n", "| [otel](adapters/otel.md) | – | – | 0 | 0 |\n",
		"| a, Loop | an error | by the next turn | at the same time | as images |\n",
		"| a, Node | an error | by a new agent | one by one | a line of text |\n",
		"| a, Loop | ✓ | ✓ | – (1) | ✓ |", "\n1. it has no eyes\n2. it has no door\n",
	} {
		assert.Contains(t, table, want)
	}

	bad := &adapterRow{name: "b", runs: []results.Record{run("Loop"), run("Node")}}
	bad.runs[0].Interrupt = ""
	bad.runs[0].Checks["image"] = "no"
	bad.runs[0].Checks["login"] = "a | b"
	bad.runs[1].Checks["beauty"] = "yes"
	bad.runs[1].Framework = "example.com/g"
	delete(bad.runs[1].Checks, "turns")
	expect(t, bad.check(checks),
		"adapters/b: there is no page docs/adapters/b.md",
		`adapters/b: its go.mod does not require the framework "example.com/g"`,
		"adapters/b: Loop is a runtime of example.com/f, others are of example.com/g",
		"adapters/b: Loop does not say what a program gets when a call waits",
		`adapters/b: Loop fails "image"`,
		`adapters/b: Loop: the reason for "login" does not fit a table`,
		`adapters/b: Node has results for "beauty", which is no check`,
		`adapters/b: Node has not passed "turns"`,
	)
	expect(t, (&adapterRow{name: "c", page: true}).check(checks), "adapters/c: there are no results in docs/adapters/results: run make adapters")
	expect(t, (&adapterRow{name: "otel", page: true, runs: good.runs}).check(checks), "adapters/otel: it has results, although it tells of calls, and makes none")
	expect(t, strangers([]string{"a"}, []string{"a", "x"}, []string{"a", "y", recipesPage}),
		`docs/adapters/results has results of "x", which is no adapter in allmodules`,
		"docs/adapters/y.md is the page of no adapter in allmodules")

	linked, extra := linkedBy([]byte("# a b c\na m v1\na n v1\nb m v1\n"), []byte("# m n\nm v2\n"))
	assert.True(t, linked["a"] == 2 && extra["a"] == 1 && linked["b"] == 1 && extra["b"] == 0, "%v %v", linked, extra)
}
