package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/root"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const (
	page      = "../../docs/cli.md"
	pageBegin = "<!-- Written by go test ./cmd/mcpbelt -update from the program. -->\n"
	pageEnd   = "<!-- End of what the program writes. -->\n"
)

// commands returns the commands that help lists, those below others included.
func commands(cmd *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.Runnable() && c.Name() != "help" {
			list = append(list, c)
		}
		list = append(list, commands(c)...)
	}
	return list
}

// newRoot returns the root command for tests that only look at it.
func newRoot() *cobra.Command {
	return root.Command(belt.New(&cli.Env{Lookup: func(string) (string, bool) { return "", false }}))
}

// TestPage keeps what the page of the command line has of the program.
func TestPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("| command | what it does |\n|---|---|\n")
	for _, c := range commands(newRoot()) {
		if c.Hidden || c.Parent().Hidden {
			continue
		}
		use := strings.TrimPrefix(c.Parent().CommandPath()+" "+c.Use, "mcpbelt ")
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(use, "|", `\|`), c.Short)
	}
	b.WriteString("\n## Exits\n\n" + cli.ExitTable())
	data := assert.Value(os.ReadFile(page))(t)
	before, rest, ok := strings.Cut(string(data), pageBegin)
	got, after, ended := strings.Cut(rest, pageEnd)
	assert.True(t, ok, "%s", page)
	assert.True(t, ended, "%s: ended", page)
	if got == b.String() {
		return
	}
	if !*updateScripts {
		t.Fatalf("%s is not what the program says: run go test . -run TestPage -update", page)
	}
	assert.OK(t, os.WriteFile(page, []byte(before+pageBegin+b.String()+pageEnd+after), 0o644))
}

// TestPagesNameCommands looks up the commands and flags that stand in the pages.
func TestPagesNameCommands(t *testing.T) {
	named := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md"} {
		pages, _ := filepath.Glob(pattern)
		for _, name := range pages {
			if filepath.Base(name) == "CHANGELOG.md" {
				continue
			}
			text := string(assert.Value(os.ReadFile(name))(t))
			for _, m := range regexp.MustCompile("(?m)(?:`|^    |^\\$ |&& )mcpbelt ([^`\n]+)").FindAllStringSubmatch(text, -1) {
				line, _, _ := strings.Cut(m[1], " # ")
				line, _, _ = strings.Cut(line, " -- ")
				words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ;,=()|", r) })
				cmd := newRoot()
				for _, word := range words {
					flag, isFlag := strings.CutPrefix(word, "--")
					switch below, _, err := cmd.Find([]string{word}); {
					case isFlag:
						known := cmd.Flags().Lookup(flag) != nil || cmd.InheritedFlags().Lookup(flag) != nil || slices.Contains([]string{"help", "version"}, flag)
						assert.True(t, known, "%s: mcpbelt %s: %q has no flag --%s", name, line, cmd.CommandPath(), flag)
					case err == nil && below != cmd && cmd.HasSubCommands():
						cmd = below
					}
				}
				assert.True(t, cmd.HasParent() || strings.HasPrefix(line, "-") || words[0] == "help" || words[0] == strings.ToUpper(words[0]), "%s: mcpbelt %s: no such command", name, line)
				named++
			}
		}
	}
	assert.True(t, named > 100, "%d commands in the pages", named)
}

// TestExamples runs the examples in the help of each command, one after the other. They
// have the servers notes, a local one, docs and github, which are switched off; github
// wants a login.
func TestExamples(t *testing.T) {
	program := assert.Value(os.Executable())(t)
	for _, c := range append(commands(newRoot()), newRoot()) {
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		t.Run(c.CommandPath(), func(t *testing.T) {
			env := exampleEnv(t, program)
			for line := range strings.Lines(c.Example) {
				runExample(t, env, strings.TrimSpace(line))
			}
		})
	}
}

// TestHelp asks each command for its help, and gives it a flag that it does not have: both read no file and start nothing.
func TestHelp(t *testing.T) {
	env := exampleEnv(t, assert.Value(os.Executable())(t))
	home, _ := env.Lookup("HOME")
	assert.OK(t, os.WriteFile(filepath.Join(home, ".config", "mcpbelt", "mcp.json"), []byte("{bad"), 0o600))
	for _, c := range commands(newRoot()) {
		for flag, want := range map[string][3]string{
			"--help": {"0", "Usage:\n  " + c.CommandPath(), ""},
			"--nope": {"2", "", "mcpbelt: unknown flag: --nope: " + c.CommandPath() + " --help"},
		} {
			var stdout, stderr bytes.Buffer
			env.Stdout, env.Stderr = &stdout, &stderr
			exit := root.Run(t.Context(), env, append(strings.Fields(c.CommandPath())[1:], flag))
			assert.Equal(t, strconv.Itoa(exit), want[0], "%s %s: exit", c.CommandPath(), flag)
			for i, out := range []string{stdout.String(), stderr.String()} {
				assert.Contains(t, out, want[i+1])
				assert.Equal(t, out == "", want[i+1] == "", "%s %s says %q", c.CommandPath(), flag, out)
			}
		}
	}
}

// exampleEnv returns an environment for examples, with the folder and home of its own.
func exampleEnv(t *testing.T, program string) *cli.Env {
	t.Helper()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	project := filepath.Join(dir, "project")
	files := map[string]string{
		filepath.Join(home, ".config", "mcpbelt", "mcp.json"): `{"mcpServers": {
	"notes": {"command": "` + filepath.ToSlash(program) + `", "env": {"` + serverMode + `": "-features"}},
	"handbook": {"command": "` + filepath.ToSlash(program) + `", "env": {"` + serverMode + `": "-skills ` + filepath.ToSlash(filepath.Join(project, "skills.json")) + `"}},
	"docs": {"url": "https://example.com/mcp", "disabled": true},
	"github": {"url": "` + authtest.NewServer(t, nil).NewMCP(nil).URL + `", "disabled": true}
}}`,
		filepath.Join(home, ".cursor", "mcp.json"):   `{"mcpServers": {}}`,
		filepath.Join(home, ".codex", "config.toml"): "[mcp_servers.files]\ncommand = \"files-server\"\nenabled = false\n",
		filepath.Join(project, "skills.json"):        `{"skill://refunds/SKILL.md": "---\nname: refunds\ndescription: Pays back\n---\n"}`,
		filepath.Join(dir, "registry", "weather.json"): `{"server": {"name": "io.github.ann/weather", "version": "1.2.0", "packages": [{"registryType": "npm", "identifier": "weather", "version": "1.2.0",
	"transport": {"type": "stdio"}, "packageArguments": [{"type": "positional", "valueHint": "city", "isRequired": true}]}]}}`,
		filepath.Join(project, "servers.json"): `{"mcpServers": {"files": {"command": "files-server"}}}`,
	}
	for path, text := range files {
		assert.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	registry := newRegistry(func(err error) { assert.OK(t, err) }, filepath.Join(dir, "registry"))
	t.Cleanup(registry.Close)
	variables := map[string]string{"MCPBELT_REGISTRY": registry.URL, "HOME": home, "USERPROFILE": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "PATH": os.Getenv("PATH")}
	return &cli.Env{
		Stdin:  strings.NewReader(""),
		Browse: browse,
		Lookup: func(name string) (string, bool) { value, ok := variables[name]; return value, ok },
		Dir:    project, StateDir: filepath.Join(home, "state"), Now: time.Now,
	}
}

func runExample(t *testing.T, env *cli.Env, line string) {
	words, err := cli.SplitWords(line)
	assert.OK(t, err, "the example %q", line)
	assert.Equal(t, words[0], "mcpbelt", "the example %q", line)
	var stdout, stderr bytes.Buffer
	env.Stdout, env.Stderr = &stdout, &stderr
	assert.Equal(t, root.Run(t.Context(), env, words[1:]), 0, "%s: %s%s: exit", line, &stdout, &stderr)
}
