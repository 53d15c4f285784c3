// Tests of README.md, README.zh.md and their pictures.

package layers

import (
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const (
	readmeInChinese  = "README.zh.md"
	maxReadme        = 150
	maxFirstProgram  = 30
	speedBegin       = "<!-- Written by go test ./internal/layers -run TestSpeed -update from bench/RESULTS.md. -->\n"
	speedEnd         = "<!-- End of what the test writes. -->\n"
	recordedSession  = "## Notice that a server changes its tools"
	terminalColumns  = 80
	cellWidth        = 8.4 // of a picture, in pixels
	cellHeight       = 18
	secondsPerPicked = 0.45 // between lines of the recording
)

// pageText returns a file of the repository.
func pageText(t *testing.T, name string) string {
	t.Helper()
	return string(assert.Value(fs.ReadFile(os.DirFS(root), name))(t))
}

// TestReadme bounds README.md and its first program, and keeps README.zh.md in step: it has the
// same headings by level, the same blocks and the same links, but for those to each other.
func TestReadme(t *testing.T) {
	shape := map[string][]string{}
	for _, name := range []string{readme, readmeInChinese} {
		text := pageText(t, name)
		assert.True(t, strings.Count(text, "\n") <= maxReadme, "%s has %d lines, of at most %d", name, strings.Count(text, "\n"), maxReadme)
		programs, problems := snippets(name, text)
		report(t, problems)
		assert.Equal(t, len(programs), 1, "%s: programs", name)
		assert.True(t, strings.Count(programs[0].code, "\n") <= maxFirstProgram, "%s: the program has %d lines, of at most %d", name, strings.Count(programs[0].code, "\n"), maxFirstProgram)
		inBlock, first := false, ""
		for line := range strings.Lines(text) {
			fence := strings.HasPrefix(line, "```")
			switch heading := len(line) - len(strings.TrimLeft(line, "#")); {
			case fence || inBlock || strings.HasPrefix(line, "    "):
				first, _, _ = strings.Cut(line, " # ") // a comment may be in the page's language
				shape[name] = append(shape[name], strings.TrimSpace(first))
			case heading > 0:
				shape[name] = append(shape[name], strings.Repeat("#", heading))
			}
			inBlock = inBlock != fence
		}
		links := pageLink.FindAllString(withoutBlocks(text), -1)
		slices.Sort(links)
		for _, link := range slices.Compact(links) {
			if !strings.HasPrefix(link, "](README") {
				shape[name] = append(shape[name], link)
			}
		}
	}
	assert.Equal(t, strings.Join(shape[readmeInChinese], "\n"), strings.Join(shape[readme], "\n"), "headings, blocks and links of README.zh.md beside README.md")
}

// TestState holds what README.md says of the state against the repository.
func TestState(t *testing.T) {
	text := pageText(t, readme)
	number := func(before, after string) int {
		m := regexp.MustCompile(before + `(\d+)` + after).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("README.md has no %s...%s", before, after)
		}
		return assert.Value(strconv.Atoi(m[1]))(t)
	}
	rows := func(page, pattern string) int {
		return len(regexp.MustCompile(pattern).FindAllString(pageText(t, page), -1))
	}
	assert.Equal(t, number("in the formats of ", " programs"), rows(configPage, `(?m)^\| [^p|][^|]*\|(?:[^|]*\|){6}$`), "programs, beside docs/configuration.md")
	reports, said := rows(reportsPage, `(?m)^\| [\w.' /-]+[#:]`), number("More than ", " public reports")
	assert.True(t, said < reports && said > reports*3/4, "README.md says more than %d reports, and there are %d", said, reports)
	mod := pageText(t, "go.mod")
	assert.Contains(t, mod, fmt.Sprintf("\ngo 1.%d", number(`Go 1\.`, `\n`)), "go.mod")
	first := strings.Count(pageText(t, "CHANGELOG.md"), "\n## v")
	assert.Equal(t, strings.Contains(text, "No version has been published"), first <= 1, "that no version is published, of %d in CHANGELOG.md", first)
	workflows, _ := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	for _, file := range workflows {
		notRun := strings.Contains(string(assert.Value(os.ReadFile(file))(t)), "has not been run")
		assert.Equal(t, strings.Contains(text, "neither have the workflows"), notRun, "that %s was not run", file)
	}
	for _, name := range linkedPages(t, os.DirFS(root)) {
		for _, stale := range []string{"being built", "coming soon", "work in progress", "not yet implemented", "TODO"} {
			assert.False(t, strings.Contains(pageText(t, name), stale) && name != "CHANGELOG.md", "%s says %q", name, stale)
		}
	}
}

// TestSpeed holds the ratios of both READMEs against bench/RESULTS.md. With -update it writes them.
func TestSpeed(t *testing.T) {
	results := pageText(t, "bench/RESULTS.md")
	value := func(text string) float64 {
		digits, thousands := strings.CutSuffix(text, "k")
		n := assert.Value(strconv.ParseFloat(digits, 64))(t)
		if thousands {
			n *= 1000
		}
		return n
	}
	table := "| %s | SDK | mcp-go |\n|---|--:|--:|\n"
	for _, m := range regexp.MustCompile(`(?m)^\| ((?:stdio|HTTP JSON|tools/list|connect one)[^|]*?), (mean µs|calls/s|ms) \|[^|]*\| (\S+) \| (\S+) \| (\S+) \|`).FindAllStringSubmatch(results, -1) {
		ours, row := value(m[3]), "| "+m[1]
		for _, other := range m[4:6] {
			ratio := value(other) / ours
			if m[2] == "calls/s" {
				ratio = 1 / ratio
			}
			row += fmt.Sprintf(" | %.1f", ratio)
		}
		table += row + " |\n"
	}
	date := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d`).FindString(results)
	assert.True(t, strings.Count(table, "\n") > 7 && date != "", "bench/RESULTS.md has the rows and a date: %s", table)
	for _, name := range []string{readme, readmeInChinese} {
		text := pageText(t, name)
		before, rest, found := strings.Cut(text, speedBegin)
		_, after, ends := strings.Cut(rest, speedEnd)
		if !found || !ends {
			t.Fatalf("%s has no place for the ratios", name)
		}
		checkWritten(t, name, before+speedBegin+fmt.Sprintf(table, date)+speedEnd+after)
	}
}

// checkWritten holds a file against its text. With -update it writes the file.
func checkWritten(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		assert.OK(t, os.WriteFile(filepath.Join(root, name), []byte(want), 0o644))
		return
	}
	assert.Equal(t, pageText(t, name), want, "%s, which -update writes", name)
}

// TestPictures holds docs/images/house.svg against house.txt beside it, and command.svg against a
// session of docs/transcripts.md, which a test runs at a terminal. With -update it draws them.
func TestPictures(t *testing.T) {
	checkWritten(t, "docs/images/house.svg", drawn(strings.Split(strings.TrimRight(pageText(t, "docs/images/house.txt"), "\n"), "\n"), false))
	_, session, _ := strings.Cut(pageText(t, "docs/transcripts.md"), recordedSession+"\n\n```console\n")
	session, _, found := strings.Cut(session, "\nexit 8\n")
	assert.True(t, found, "docs/transcripts.md has the session")
	var lines []string
	for line := range strings.SplitSeq(session+"\nexit 8", "\n") {
		for utf8.RuneCountInString(line) > terminalColumns {
			lines, line = append(lines, string([]rune(line)[:terminalColumns])), string([]rune(line)[terminalColumns:])
		}
		lines = append(lines, line)
	}
	checkWritten(t, "docs/images/command.svg", drawn(lines, true))
}

// drawn returns a picture of lines of text, which come one after the other in a recording.
func drawn(lines []string, recording bool) string {
	columns := 0
	for _, line := range lines {
		columns = max(columns, utf8.RuneCountInString(line))
	}
	var b strings.Builder
	width, height := float64(columns)*cellWidth+32, len(lines)*cellHeight+28
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d">`+"\n", width, height, width, height)
	b.WriteString(`<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d8dee9;white-space:pre}` +
		`.c{fill:#8fd18f;font-weight:bold}.p{fill:#8fd18f}.m{fill:#f28b82}` +
		`@keyframes s{from{opacity:0}to{opacity:1}}@media (prefers-reduced-motion:no-preference){.a{animation:s .01s both}}</style>` + "\n")
	fmt.Fprintf(&b, `<rect width="%.0f" height="%d" rx="8" fill="#1d2430"/>`+"\n", width, height)
	for i, line := range lines {
		class, delay := "", ""
		if recording {
			class, delay = "a", fmt.Sprintf(` style="animation-delay:%.2fs"`, float64(i)*secondsPerPicked)
			switch bare := strings.TrimSpace(line); {
			case strings.HasPrefix(line, "$ "):
				class += " c"
			case strings.HasPrefix(bare, "+ "):
				class += " p"
			case strings.HasPrefix(bare, "- "):
				class += " m"
			}
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		text := strings.TrimLeft(line, " ")
		left := 16 + cellWidth*float64(utf8.RuneCountInString(line)-utf8.RuneCountInString(text))
		fmt.Fprintf(&b, `<text class="%s"%s x="%.1f" y="%d" textLength="%.1f">%s</text>`+"\n", class, delay, left, i*cellHeight+28,
			cellWidth*float64(utf8.RuneCountInString(text)), html.EscapeString(text))
	}
	b.WriteString("</svg>\n")
	return b.String()
}
