package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/zalando/go-keyring"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/root"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

var updateScripts = flag.Bool("update", false, "rewrite the golden parts of the scripts, and what docs/cli.md has of the program")

// serverMode is the variable of the environment with which the test program is a server; it
// has the flags of that.
const serverMode = "MCPBELT_TEST_SERVER"

// A testRun runs the tests and returns the exit of the test program.
type testRun func() int

func (run testRun) Run() int { return run() }

// TestMain makes this program itself mcpbelt, and the server of the scripts: scripts
// run both as processes of their own.
func TestMain(m *testing.M) {
	codemode.Child()
	if flags := os.Getenv(serverMode); flags != "" {
		os.Exit(runTestServer(strings.Fields(flags)))
	}
	run := func() int {
		code := m.Run()
		http.DefaultClient.CloseIdleConnections()
		if err := goleak.Find(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, "goleak:", err)
			return 1
		}
		return code
	}
	testscript.Main(testRun(run), map[string]func(){
		"mcpbelt":    func() { withKeyring(); os.Exit(root.Main()) },
		"pty":        func() { os.Exit(runAtTerminal(os.Args[1:])) },
		"signal":     func() { os.Exit(runAndSignal(os.Args[1:])) },
		"testserver": func() { os.Exit(runTestServer(os.Args[1:])) },
		"xdg-open":   func() { _ = browse(context.Background(), os.Args[1]) },
	})
}

// TestScripts runs testdata/script. Beside the commands of testscript there are:
//
//	exits N mcpbelt ARG...     run a command that must end with the status N
//	httpserver NAME FLAG...    start a server over HTTP that ends with the script, and set
//	                           the variable NAME to its URL
//	registry NAME FOLDER       start a server registry, and set the variable NAME to its URL
//	bundle FILE FOLDER         pack a bundle
//	json stdout|stderr PATH[=VALUE]...
//	                           what was written last is one JSON object that has each
//	                           member, such as servers.0.name, with that value
//
// and the program pty, which runs a command at a terminal, by default of 80 columns:
//
//	exec pty [-cols N] [-stdin FILE] [-spin] mcpbelt ARG...
//
// and signal, which sends a command a signal by its number when its server runs:
//
//	exec signal N mcpbelt ARG... -mark started
//
// What a command shows at a terminal, on both outputs, is the standard output of pty, and its exit
// that of pty.
func TestScripts(t *testing.T) {
	//report: Command | avelino/mcp#5, modelcontextprotocol/inspector#2434, github/copilot-cli#3752 | the names of servers, tools and arguments have to be typed from memory | the shell completes them, arguments too, from what each server listed last, and starts nothing (completion.txtar)
	//report: Command | avelino/mcp#84, philschmid/mcp-cli#5 | each command starts its server anew, which takes seconds, and what the server held is gone | `mcpbelt daemon` keeps the servers, and all commands use those that it has (daemon_background.txtar)
	//report: Command | webstudio-is/webstudio#6049 | lines of a log stand before the JSON of a command | with `--json` standard output has one JSON value and nothing else; what servers say is on standard error (call_json.txtar)
	//report: Command | anthropics/claude-code#65463, anthropics/claude-code#62332 | several programs change the config file at one time, and entries are lost | no entry is lost (add_together.txtar)
	//report: Command | anthropics/claude-code#17791 | a list of servers says that there are none, since the file cannot be read | `list` names the file, line and column, and shows the servers of the other files (list_files.txtar)
	//report: Command | microsoft/azure-devops-mcp#147, metatool-ai/metamcp#128, supercorp-ai/supergateway#139 | a server ends at its start, and the client waits, or says that the connection was closed | each command says so at once with what the server wrote, and its exit tells that nothing was sent (each_down.txtar, test.txtar)
	//report: Command | firecrawl/firecrawl-mcp-server#39 | a server has no resources or prompts, and each list of them is an error | servers without them are not asked, and the lists of the others are shown (resources.txtar)
	//report: Command | knowsuchagency/mcp2cli#76 | a command that was ended by a signal, or whose reader has gone, says that it went well | it exits with 128 and the number of the signal, and cancels the call at the server (signals_call.txtar, pipe_call.txtar)
	//report: Command | anthropics/claude-code#3825, boshyxd/robloxstudio-mcp#89, exa-labs/exa-mcp-server#71, cassler/awesome-claude-code-setup#58 | `add NAME npx -y PACKAGE` without `--` takes -y for a flag of its own, and says so | nothing is written, and the error says that what belongs to the command of the server stands behind `--`; `add NAME npx` names the whole command line (set.txtar)
	//report: Command | openclaw/mcporter#117, f/mcptools#91, modelcontextprotocol/inspector#420, modelcontextprotocol/inspector#879 | a server that is named by its URL on the command line cannot be given a header | every command that takes a URL has `--header` and `--key`, and `--env` and `--cwd` for a command; no text shows the values (tools_headers.txtar)
	//report: Command | multica-ai/multica#7923, burugo/one-mcp#1, unslothai/unsloth#6042, vercel-labs/coding-agent-template#45 | a server that was added cannot be changed, or loses what is not typed again | `set` changes what it is told and leaves the rest as it is, comments included; `add --force` replaces it (set.txtar)
	//report: Command | ataidesorg/ink#47, GH05TCREW/pentestagent#28 | a list does not say what a server is, whether it worked, and how many tools it has | `list` has the command or URL, and how the server stood and its tools when a command last looked; nothing is started (list_seen.txtar)
	//report: Command | seuros/chaos#38, currents-dev/currents-mcp#175, Liuyy682/myclaw#59 | an approval is gone after a restart, or outlives a change of what the server says of the tool | the answer always is kept as long as the entry and what the server says of the tool are the same (call_consent.txtar)
	//report: Command | docker/docker-agent#2623, letterstory/lettertrace#73 | a server asks the user in a run without a terminal, and the command waits for ever | the question is refused at once, and the exit is 15 (exit_input_needed.txtar)
	//report: Config files | MoonshotAI/kimi-code#2453, phnx-labs/agi-cli#1233, bobmatnyc/trusty-tools#3926 | a file of a repository has a server of the name of one of the user's, and takes its place before anyone has trusted it | the user's goes on to be used until the launch was allowed, also where the command of the repository's cannot be found (project_hides.txtar)
	//report: Config files | github/copilot-cli#1841, anthropics/claude-code#44158, microsoft/apm#344 | a server of VS Code that asks for an input is copied to another program, which takes `${input:ID}` for a text or does not know it | after `import` it reads a variable, MCPBELT_INPUT_ID, which the plan names (import_inputs.txtar)
	//report: Gateway | can1357/oh-my-pi#10222, microsoft/vscode#298040 | a gateway answers the first list of tools while its servers are still starting, and clients that list once never see the rest | `serve` lists what such servers listed before, starts them meanwhile, and waits at most 5 s for those that never did (serve_lists.txtar)
	//report: Gateway | microsoft/vscode#254984, archestra-ai/archestra#841 | a program has a server itself and again through a gateway, and shows its tools twice | `connect` writes an entry that leaves out servers which the program has in its own file, and says which (serve_lists.txtar, connect.txtar)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *updateScripts,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("USERPROFILE", home)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
			e.Setenv("XDG_STATE_HOME", filepath.Join(home, ".local", "state"))
			e.Setenv("TERM", "xterm-256color")
			e.Setenv("GORACE", os.Getenv("GORACE"))
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "httpserver": startHTTPServer, "json": hasMembers,
			"registry": startRegistry, "bundle": makeBundle,
		},
	})
}

// exits runs a program that must end with a status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("got the exit %d, want %d", got, want)
	}
}

// withKeyring gives this process a keyring, which no machine of the tests has, with the secret of a variable.
func withKeyring() {
	if name, value, ok := strings.Cut(os.Getenv("MCPBELT_TEST_KEYRING"), "="); ok {
		keyring.MockInit()
		_ = keyring.Set("mcpbelt", name, value)
	}
}

// spins matches what a spinner shows, which only a slow machine sees, and its removal.
var spins = regexp.MustCompile(`\r\x1b\[K(?:[⠀-⣿] [^\r\n\x1b]*)?`)

// runAtTerminal runs a program with a terminal as its input and outputs, writes what it
// shows to standard output, and returns its exit.
func runAtTerminal(args []string) int {
	flags := flag.NewFlagSet("pty", flag.ExitOnError)
	cols := flags.Int("cols", 80, "columns of the terminal")
	stdin := flags.String("stdin", "", "a `file` that is typed")
	spin := flags.Bool("spin", false, "show what a spinner shows, which depends on how long things take")
	_ = flags.Parse(args)
	cmd := exec.Command(flags.Arg(0), flags.Args()[1:]...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: uint16(*cols)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	defer terminal.Close()
	if *stdin != "" {
		typed, err := os.ReadFile(*stdin)
		if err == nil {
			_, err = terminal.Write(typed)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 255
		}
	}
	var shown bytes.Buffer
	_, _ = io.Copy(&shown, terminal) // ends with an error when the program has ended
	text := strings.ReplaceAll(shown.String(), "\r\n", "\n")
	if !*spin {
		text = spins.ReplaceAllString(text, "")
	}
	fmt.Print(text)
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// startHTTPServer starts a test server over HTTP in this process.
func startHTTPServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: httpserver NAME FLAG...")
	}
	handler, err := testServerHandler(args[1:])
	ts.Check(err)
	server := httptest.NewServer(handler)
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL+"/mcp")
}

// hasMembers checks the members of a JSON object that a command has written.
func hasMembers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: json FILE PATH[=VALUE]...")
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &object); err != nil {
		ts.Fatalf("%s is not one JSON object: %v", args[0], err)
	}
	for _, arg := range args[1:] {
		path, want, valued := strings.Cut(arg, "=")
		var at any = object
		for part := range strings.SplitSeq(path, ".") {
			next, found := any(nil), false
			switch v := at.(type) {
			case map[string]any:
				next, found = v[part], v[part] != nil
			case []any:
				if n, err := strconv.Atoi(part); err == nil && n >= 0 && n < len(v) {
					next, found = v[n], true
				}
			}
			if !found {
				ts.Fatalf("%s has no member %s", args[0], path)
			}
			at = next
		}
		if got := fmt.Sprint(at); valued && got != want {
			ts.Fatalf("%s: got %s=%s, want %s", args[0], path, got, want)
		}
	}
}
