package doctor_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/transport"
)

var sdkMethodNotFound = jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "unknown"}

const allStages = "resolved spawned connected initialized listed"

func TestTestOfALocalServer(t *testing.T) {
	mark := rand.Text()
	e := scripted(t, mark, "stderr:listening with hunter2secret", "sdk")
	e.Env["API_KEY"] = "hunter2secret"
	r := tested(t, newHost(t, nil), e)
	assert.OK(t, r.Err)
	assert.Equal(t, fmt.Sprintf("%t %q %s %s %d", r.Success, r.Error, stagesOf(r), r.Reached, len(r.Hints)), `true "" `+allStages+` listed 0`, "report")
	assert.Equal(t, len(r.Tools), 5, "tools")
	assert.Equal(t, r.Tools[0].RegisteredName+" "+r.Tools[0].State, "s__"+r.Tools[0].Name+" listed", "the first tool")
	assert.False(t, r.Protocol == "", "server")
	assert.False(t, r.Program == "", "server")
	assert.Contains(t, r.Stderr, "listening with ****\n", "stderr") // a program of -cover adds a warning
	assert.Equal(t, len(leftovers(t, mark)), 0, "left")
	text := string(assert.Value(json.Marshal(r))(t))
	assert.Contains(t, text, `"success":true`)
	assert.Contains(t, text, `"tookSeconds":`)
	assert.Lacks(t, text, "hunter2secret")
}

// Whenever the caller gives up, the test returns, says how far it came, and leaves
// neither the process nor what that has started.
func TestTestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{"spawned", "connected", "initialized"} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			mark, reached := rand.Text(), filepath.Join(t.TempDir(), "reached")
			e := probed(t, fmt.Sprintf(`{"command": %q, "connectTimeoutSeconds": 600, "readTimeoutSeconds": 600, "env": {%q: %q, %q: %q, %q: %q}}`,
				os.Args[0], serverMode, "until "+stage, probeMark, mark, probeReached, reached))
			h := newHost(t, &host.Options{Transport: killSoon("s")})
			ctx, cancel := context.WithCancel(watchdog(t))
			go cancelWhen(t, reached, cancel)
			r := assert.Value(doctor.Test(ctx, h, e))(t)
			assert.False(t, r.Success, "reached")
			assert.Equal(t, r.Reached, stage, "reached")
			assert.Is(t, r.Err, context.Canceled, "reached")
			assert.Equal(t, len(leftovers(t, mark)), 0, "left")
		})
	}
}

// The time of an entry ends the test too, and the hints say what to raise.
func TestTestTakesTooLong(t *testing.T) {
	mark := rand.Text()
	e := scripted(t, mark, "hang")
	h := newHost(t, nil)
	e.ConnectTimeout = 1
	r := tested(t, h, e)
	assert.False(t, r.Success, "report")
	assert.Is(t, r.Err, context.DeadlineExceeded, "report")
	assert.Equal(t, hintsOf(r), "timeout", "report")
	assert.Equal(t, len(leftovers(t, mark)), 0, "left")
}

// Close ends a test that is under way.
func TestTestEndsWithItsHost(t *testing.T) {
	t.Parallel()
	mark, reached := rand.Text(), filepath.Join(t.TempDir(), "reached")
	e := probed(t, fmt.Sprintf(`{"command": %q, "connectTimeoutSeconds": 600, "readTimeoutSeconds": 600, "env": {%q: "until spawned", %q: %q, %q: %q}}`,
		os.Args[0], serverMode, probeMark, mark, probeReached, reached))
	h := newHost(t, &host.Options{Transport: killSoon("s")})
	go cancelWhen(t, reached, func() { _ = h.Close() })
	_, err := doctor.Test(watchdog(t), h, e)
	assert.Is(t, err, host.ErrClosed, "error")
	assert.Equal(t, len(leftovers(t, mark)), 0, "left")
	_, err = doctor.Test(watchdog(t), h, e)
	assert.Is(t, err, host.ErrClosed, "afterwards")
	_, err = doctor.Test(watchdog(t), h, nil)
	assert.Fails(t, err, "a test of nothing")
}

// A local server that does not work says why.
func TestTestOfBadLocalServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		assert.OK(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	command := func(path string, more ...string) *config.Server {
		return probed(t, fmt.Sprintf(`{"command": %q%s}`, path, strings.Join(append([]string{""}, more...), ", ")))
	}
	elf := []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xf3\x00\x01\x00\x00\x00" + strings.Repeat("\x00", 28) + "\x40\x00\x38\x00\x00\x00\x40\x00\x00\x00\x00\x00")
	for name, c := range map[string]struct {
		entry   *config.Server
		reached string
		hints   string
		text    string // in the first hint
	}{
		//report: Processes | bun913/mcp-testrail#136, modelcontextprotocol/servers#64, github/CopilotForXcode#282, cline/cline#1948, tomaspavlin/rohlik-mcp#6 | npx was installed by a version manager, and a program that is started from a menu has another PATH | the hint shows the PATH that was searched, and names the absolute path as the cure
		"no such program": {command("no-such-program-at-all"), "", "command_not_found", os.Getenv("PATH")},
		"no such file":    {command(filepath.Join(dir, "servr")), "resolved", "command_not_found", "There is no file"},
		"a folder":        {command(dir), "resolved", "command_not_executable", "executable"},
		//report: Processes | modelcontextprotocol/mcpb#42, antvis/mcp-server-chart#90, anthony-chaudhary/fak#5009 | the file of a server is not marked as executable | the hint names chmod +x, and that the interpreter can be the command
		"not executable": {command(file("plain.sh", "#!/bin/sh\n", 0o600)), "resolved", "command_not_executable", "chmod +x"},
		"no interpreter": {command(file("script", "#!/no/such/interpreter\n", 0o700)), "resolved", "command_not_found", "interpreter"},
		//report: Processes | illuminaresolutions/n8n-mcp-server#8, imjac0b/iconify-mcp-server#1, PrefectHQ/fastmcp-ts#100 | a script has no first line that names its interpreter | the hint says so, with an example
		"neither program":      {command(file("neither", "exit 0\n", 0o700)), "resolved", "command_not_executable", "#!/bin/sh"},
		"line ends of Windows": {command(file("dos.sh", "#!/bin/sh\r\nexit 0\r\n", 0o700)), "resolved", "command_not_found", "interpreter"},
		"for another machine":  {command(file("riscv", string(elf), 0o700)), "resolved", "command_not_executable", "this machine"},
		"no such cwd":          {command("sh", fmt.Sprintf(`"cwd": %q`, filepath.Join(dir, "gone"))), "resolved", "command_not_found", `"cwd"`},
		//report: Processes | varandrew/moor#49, aaddrick/claude-desktop-debian#247 | npx is found, and does not find node | the hint says that a program which the server wanted to run is not in its PATH, and where to add the folder
		"env without its word": {command(file("via-env", "#!/usr/bin/env no-such-node\n", 0o700)), "spawned", "command_not_found", "127"},
		//report: Processes | microsoft/azure-devops-mcp#209 | a server lacks an argument, says so on its standard error, and ends | the hint has its last words
		"exits with an error": {scripted(t, rand.Text(), "stderr:no licence found", "exit:3"), "spawned", "exited", "no licence found"},
		//report: Processes | modelcontextprotocol/servers#879, ihor-sokoliuk/mcp-searxng#21 | a program ends without an error and without an answer | the hint says that it is no server, or becomes one with another argument
		"exits at once": {scripted(t, rand.Text(), "stderr:usage: server serve", "exit:0"), "spawned", "exited", `"serve"`},
		"is killed":     {scripted(t, rand.Text(), "kill"), "spawned", "exited", "killed"},
		//report: Processes | IvanMurzak/Unity-MCP#202, tsmztech/mcp-server-salesforce#67 | a server, or a library of it, logs to its standard output | the lines are passed over, and the hint quotes one and says where logs belong
		"only noise":          {scripted(t, rand.Text(), "lines:100:server is up", "hang"), "spawned", "stray_output", "server is up"},
		"an unknown revision": {scripted(t, rand.Text(), "read", `say:{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"?"}}`, "read", `answer:{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`, "hang"), "connected", "protocol", "1999-01-01"},
		"an echo":             {command("cat"), "connected", "protocol", "repeats"},
		"an unset variable":   {command("sh", `"args": ["${NO_SUCH_VARIABLE_AT_ALL}"]`), "", "unset_variable", "NO_SUCH_VARIABLE_AT_ALL"},
		"no entry":            {probed(t, `{"comand": "x"}`), "", "invalid_entry", ""},
		"no isolation":        {command("sh", `"isolation": {"kind": "landlock"}`), "", "", ""},
		//report: Processes | github/github-mcp-server#232, github/github-mcp-server#1821 | the docker daemon does not run | the hint has the words of docker, and asks for no variable
		"a docker that is none": {probed(t, fmt.Sprintf(`{"command": %q, "args": ["run", "image"]}`, file("docker", "#!/bin/sh\necho no daemon >&2\nexit 125\n", 0o700))), "spawned", "exited", "no daemon"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "no isolation" {
				c.entry.Isolation = &config.Isolation{Kind: config.IsolationLandlock}
				c.reached, c.hints, c.text = "resolved", "isolation_unavailable", "confined"
			}
			// That a process has ended may be known too late, after the end of its output.
			r := tested(t, newHost(t, nil), c.entry)
			for range 100 {
				if len(r.Hints) > 0 {
					break
				}
				r = tested(t, newHost(t, nil), c.entry)
			}
			assert.False(t, r.Success, "reached")
			assert.Fails(t, r.Err, "reached")
			assert.Equal(t, r.Reached, c.reached, "reached")
			got, _, _ := strings.Cut(hintsOf(r), " ")
			assert.Equal(t, got, c.hints, "hints")
			assert.Contains(t, r.Hints[0].Text, c.text, "hint")
		})
	}
}

// A server from a project that nobody has approved is not started for a test either.
func TestTestNeedsApproval(t *testing.T) {
	reached := filepath.Join(t.TempDir(), "reached")
	e := probed(t, fmt.Sprintf(`{"command": %q, "connectTimeoutSeconds": 600, "readTimeoutSeconds": 600, "env": {%q: "until spawned", %q: %q}}`, os.Args[0], serverMode, probeReached, reached))
	e.Source.Scope = config.ScopeProject
	r := tested(t, newHost(t, nil), e)
	assert.As[*host.LaunchNotAllowedError](t, r.Err)
	assert.Equal(t, fmt.Sprintf("%t %q %s", r.Success, r.Reached, hintsOf(r)), `false "" launch_not_allowed`, "report")
	assert.Fails(t, hosttest.ErrorOf(os.Stat(reached)), "it was started")
}

// What a server writes cannot deceive who reads the report.
func TestTestShowsHostileText(t *testing.T) {
	e := scripted(t, rand.Text(), "write:\\u001b[2Khello\\n", "stderr:\x1b[1A all is well ghp_0123456789abcdefghijABCDEFGHIJ012345", "exit:1")
	r := tested(t, newHost(t, nil), e)
	all := r.Stderr + r.Error + strings.Join(r.StrayOutput, "")
	for _, h := range r.Hints {
		all += h.Text
	}
	assert.False(t, strings.ContainsAny(all, "\x1b"), "shown")
	assert.Lacks(t, all, "ghp_", "shown")
	assert.Contains(t, all, "<U+001B>", "shown")

	exit := assert.As[*transport.ExitError](t, r.Err, "error")
	assert.Equal(t, exit.Code, 1, "error")
}
