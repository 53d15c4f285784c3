package doctor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// ofCommand looks at a local server.
func (t *trouble) ofCommand() {
	var start *transport.StartError
	var exit *transport.ExitError
	switch {
	case errors.As(t.err, &start):
		t.ofStart(start)
	case errors.As(t.err, &exit):
		t.ofExit(exit)
	}
}

// ofStart tells why a process could not be started. The error of the system does not
// say what it was that is missing, so the files are looked at.
func (t *trouble) ofStart(start *transport.StartError) {
	if cwd := t.entry.Cwd; cwd != "" && !isFolder(cwd) {
		t.hint(HintCommandNotFound, fmt.Sprintf("The working directory %q is not there, or is not a folder. Make it, or correct \"cwd\" in the entry.", cwd))
		return
	}
	command := t.entry.Command
	if !t.hasFolder(command) {
		t.ofBareCommand(command, start)
		return
	}
	t.ofProgram(t.place(command), start)
}

// ofProgram tells why a program at a path was not started.
func (t *trouble) ofProgram(path string, start *transport.StartError) {
	info, err := os.Stat(path)
	switch {
	case isAbsent(path):
		t.missingProgram(path)
		return
	case err != nil:
		t.hint(HintCommandNotExecutable, fmt.Sprintf("The program %q cannot be looked at: %v. See to it that the user who runs this program may read its folder.", path, err))
		return
	case info.IsDir():
		t.hint(HintCommandNotExecutable, fmt.Sprintf("%q is a folder. Write the program in it as \"command\", and the folder as \"cwd\" if it belongs there.", path))
		return
	case t.goos != "windows" && info.Mode()&0o111 == 0:
		t.hint(HintCommandNotExecutable, fmt.Sprintf("The file %q is not marked as executable. Run chmod +x on it, or write its interpreter, such as node or python3, as \"command\" and the file as the first of \"args\".", path))
		return
	}
	if t.ofScript(path) {
		return
	}
	switch {
	case errors.Is(start.Err, syscall.ENOEXEC), errors.Is(start.Err, syscall.Errno(193)) && t.goos == "windows":
		t.hint(HintCommandNotExecutable, fmt.Sprintf("The system cannot execute %q: it was built for another machine than this one, %s/%s, or is a script without a line such as #!/bin/sh. Get the build for this machine, or write the interpreter as \"command\" and the file as the first of \"args\".", path, runtime.GOOS, runtime.GOARCH))
	case errors.Is(start.Err, os.ErrNotExist):
		t.hint(HintCommandNotFound, fmt.Sprintf("The program %q is there, but what loads it is not: it was built for a system with another C library. Get the build for this system.", path))
	case errors.Is(start.Err, os.ErrPermission):
		t.hint(HintCommandNotExecutable, fmt.Sprintf("The system does not let the user of this program execute %q: its owner or group may be another, or its file system is mounted noexec.", path))
	}
}

// missingProgram tells of a program that is not where the entry says.
func (t *trouble) missingProgram(path string) {
	text := fmt.Sprintf("There is no file %q.", path)
	if !filepath.IsAbs(t.entry.Command) {
		text += " A relative command is looked for from the working directory of the server, \"cwd\"."
	}
	if near := nearNames(filepath.Base(path), []string{filepath.Dir(path)}); len(near) > 0 {
		text += " In that folder there is " + strings.Join(near, ", ") + "."
	}
	t.hint(HintCommandNotFound, text+" Correct \"command\" in the entry, or install the program there.")
}

// ofScript tells of a script whose interpreter is missing. It reports whether path is
// such a script.
func (t *trouble) ofScript(path string) bool {
	line, ok := scriptLine(path)
	if !ok {
		return false
	}
	if strings.HasSuffix(line, "\r") {
		t.hint(HintCommandNotExecutable, fmt.Sprintf("The script %q has line ends of Windows, so that its interpreter is looked for under a wrong name. Convert it with dos2unix.", path))
		return true
	}
	words := strings.Fields(line)
	if len(words) == 0 {
		return false
	}
	if isAbsent(words[0]) {
		t.hint(HintCommandNotFound, fmt.Sprintf("The script %q wants to be run by %q, which is not there. Install it, or write another interpreter as \"command\" and the script as the first of \"args\".", path, words[0]))
		return true
	}
	if filepath.Base(words[0]) != "env" {
		return false
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		if path := t.childPath(); t.search(word, path) == "" {
			t.hint(HintCommandNotFound, fmt.Sprintf("The script %q wants to be run by %s, which is not in the PATH that the server gets: %s. %s", t.entry.Command, word, path, t.whereElse(word)))
			return true
		}
		break
	}
	return false
}

// scriptLine returns the first line of a script, without the marks before it.
func scriptLine(path string) (string, bool) {
	const longest = 256
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	head, err := bufio.NewReader(io.LimitReader(f, longest)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSuffix(head, "\n"), "#!")
}

// Exit codes that say what has failed.
const (
	exitContainer = 125 // of docker and podman: the container was not started
	exitMissing   = 127 // of shells: what was to be run is not there
)

// ofExit tells of a process that has ended by itself.
func (t *trouble) ofExit(exit *transport.ExitError) {
	program := programName(t.entry.Command)
	switch {
	case exit.Code == exitContainer && (program == "docker" || program == "podman"):
		t.hint(HintExited, fmt.Sprintf("%s could not start the container: it may not be running, the user may not be allowed to use it, or an argument in front of the image is wrong.%s", program, t.lastWords()))
	case exit.Code == exitMissing && t.ofScript(t.resolved()):
	case exit.Code == exitMissing:
		t.hint(HintCommandNotFound, fmt.Sprintf("%q ended with code 127: something that it wanted to run was not found. The PATH that the server gets is %s.%s", t.entry.Command, t.childPath(), t.lastWords()))
	case exit.Signal != "":
		t.hint(HintExited, fmt.Sprintf("%q was ended by a signal (%s) before it had answered: by another process, for want of memory, or because the system does not allow what it did.%s", t.entry.Command, exit.Signal, t.lastWords()))
	case exit.Code == 0 && t.reached != TestInitialized:
		t.hint(HintExited, fmt.Sprintf("%q did something, and ended without an error and without having answered: it is not a server, or becomes one only with an argument such as \"mcp\", \"serve\" or \"stdio\". Look it up in its manual, and add it to \"args\".%s", t.entry.Command, t.lastWords()))
	default:
		t.hint(HintExited, fmt.Sprintf("%q ended with code %d before it had answered. Look at what it wrote to its standard error; arguments, variables or files that it needs may be missing.%s", t.entry.Command, exit.Code, t.lastWords()))
	}
}

// ofEnvironment tells of a local server that may lack a variable: it does not get those
// that a program in a terminal does.
func (t *trouble) ofEnvironment() {
	var exit *transport.ExitError
	var refused *mcp.JSONRPCError
	exited, answered := errors.As(t.err, &exit), errors.As(t.err, &refused)
	failed := exited && exit.Code > 0 && exit.Code != exitMissing && exit.Code != exitContainer
	if !failed && !((exited || answered) && speaksOfVariables(t.err.Error()+t.stderr)) {
		return
	}
	t.hint(HintUnsetVariable, "A local server gets only a few variables of this program's environment, such as PATH and HOME, and those that the entry has in \"env\". If it needs others, such as a token, write them there: \"env\": {\"NAME\": \"${NAME}\"}.")
}

// speaksOfVariables reports whether a text is about variables of the environment.
func speaksOfVariables(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "environment") || strings.Contains(text, "env var")
}

// lastWords quotes the end of standard error.
func (t *trouble) lastWords() string {
	const most = 3
	lines := strings.Split(strings.TrimSpace(t.stderr), "\n")
	lines = slices.Compact(lines) // it may have been started twice
	lines = lines[max(0, len(lines)-most):]
	if text := t.clean.line(strings.Join(lines, " / ")); text != "" {
		return " Its last words: " + text
	}
	return ""
}

// resolved returns the path of the entry's program, or "".
func (t *trouble) resolved() string {
	if t.hasFolder(t.entry.Command) {
		return t.place(t.entry.Command)
	}
	return t.search(t.entry.Command, t.getenv("PATH"))
}

// ofBareCommand tells of a program that is looked up in PATH.
func (t *trouble) ofBareCommand(command string, start *transport.StartError) {
	path := t.getenv("PATH")
	if found := t.search(command, path); found != "" && !errors.Is(start.Err, exec.ErrNotFound) {
		t.ofProgram(found, start)
		return
	}
	for _, dir := range t.folders(path) {
		file := filepath.Join(dir, command)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && t.goos != "windows" {
			t.hint(HintCommandNotExecutable, fmt.Sprintf("%q is in PATH, but it is not marked as executable. Run chmod +x on it.", file))
			return
		}
	}
	if errors.Is(start.Err, exec.ErrDot) {
		t.hint(HintCommandNotFound, fmt.Sprintf("%q is found only in the present folder, from which nothing is run by its mere name. Write \"command\": \"./%[1]s\" if that is the one.", command))
		return
	}
	text := fmt.Sprintf("There is no program %q in the PATH of this program: %s.", command, path)
	if t.entry.Env["PATH"] != "" {
		text += " The PATH in \"env\" is for the server, and is not used to find it."
	}
	if near := nearNames(command, t.folders(path)); len(near) > 0 {
		text += " There is " + strings.Join(near, ", ") + "."
	}
	if found := t.elsewhere(command); found != "" {
		t.hint(HintCommandNotInPath, t.whereElse(command))
	}
	t.ofWindowsScript(command)
	t.hint(HintCommandNotFound, text+" "+t.install(command))
}

// programName returns the name of a program without its folder and ending.
func programName(command string) string {
	name := strings.ToLower(command[strings.LastIndexAny(command, `/\`)+1:])
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}
