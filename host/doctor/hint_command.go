package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"

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

// ofStart tells why a process could not be started.
func (t *trouble) ofStart(start *transport.StartError) {
	command, cwd := t.entry.Command, t.entry.Cwd
	missing := errors.Is(start.Err, exec.ErrNotFound) || errors.Is(start.Err, exec.ErrDot) || errors.Is(start.Err, fs.ErrNotExist)
	switch {
	case cwd != "" && !isFolder(cwd):
		t.hint(hintCommandNotFound, fmt.Sprintf("The working directory %q is not there, or is not a folder. Make it, or correct \"cwd\" in the entry.", cwd))
	case missing && strings.ContainsAny(command, `/\`):
		t.hint(hintCommandNotFound, fmt.Sprintf("There is no file %q, or it is a script whose first line names an interpreter that is not there. A relative path is looked for from \"cwd\". Correct \"command\" in the entry, or install what is missing.", command))
	case missing:
		text := fmt.Sprintf("There is no program %q in the PATH of this program: %s. Services, and apps that are started from a menu, do not get the PATH of a terminal, to which version managers such as nvm, fnm and volta add. Install it, or write its absolute path as \"command\".", command, os.Getenv("PATH"))
		if runtime.GOOS == "windows" {
			text += fmt.Sprintf(" On Windows npx and npm are scripts: write \"command\": \"cmd\" and \"args\": [\"/c\", %q, ...].", command)
		}
		t.hint(hintCommandNotFound, text)
	default:
		t.hint(hintCommandNotExecutable, fmt.Sprintf("The system does not execute %q: %v. It has to be a file that is marked as executable (chmod +x) and built for this machine, %s/%s, or a script with a first line such as #!/bin/sh. Or write its interpreter, such as node or python3, as \"command\", and the file as the first of \"args\".", command, start.Err, runtime.GOOS, runtime.GOARCH))
	}
}

// Exit codes that say what has failed.
const (
	exitContainer = 125 // of docker and podman: the container was not started
	exitMissing   = 127 // of shells: what was to be run is not there
)

// ofExit tells of a process that has ended by itself.
func (t *trouble) ofExit(exit *transport.ExitError) {
	command, words := t.entry.Command, t.lastWords()
	switch {
	case exit.Code == exitMissing:
		t.hint(hintCommandNotFound, fmt.Sprintf("%q ended with code 127: something that it wanted to run was not found in the PATH that the server gets. Install that, or add its folder to \"PATH\" in \"env\".%s", command, words))
	case exit.Signal != "":
		t.hint(hintExited, fmt.Sprintf("%q was ended by a signal (%s) before it had answered: by another process, for want of memory, or because the system does not allow what it did.%s", command, exit.Signal, words))
	case exit.Code == 0 && t.reached != testInitialized:
		t.hint(hintExited, fmt.Sprintf("%q did something, and ended without an error and without having answered: it is not a server, or becomes one only with an argument such as \"mcp\", \"serve\" or \"stdio\". Look it up in its manual, and add it to \"args\".%s", command, words))
	default:
		t.hint(hintExited, fmt.Sprintf("%q ended with code %d before it had answered. Look at what it wrote to its standard error; arguments, variables or files that it needs may be missing.%s", command, exit.Code, words))
	}
	if kept := t.keptVariables(exit.Stderr); kept != "" {
		t.hint(hintUnsetVariable, kept)
	} else if exit.Code > 0 && exit.Code != exitMissing && exit.Code != exitContainer {
		t.hint(hintUnsetVariable, "A local server gets only a few variables of this program's environment, such as PATH and HOME, and those that the entry has in \"env\". If it needs others, such as a token, write them there: \"env\": {\"NAME\": \"${NAME}\"}.")
	}
}

// troubles name the variables by which programs find what they need, and the words, in small
// letters, in which they complain without.
var troubles = []struct{ names, words []string }{
	{[]string{"DOCKER_HOST", "DOCKER_CONTEXT"}, []string{"docker daemon", "docker.sock", "docker api", "docker_engine"}},
	{[]string{"KUBECONFIG"}, []string{"kubeconfig", "kube/config", "kubernetes", "current-context", "localhost:8080"}},
	{[]string{"JAVA_HOME"}, []string{"java_home", "java: not found", "java runtime", "jvm"}},
	{[]string{"SSH_AUTH_SOCK"}, []string{"publickey", "ssh-agent", "authentication agent"}},
	{[]string{"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_CONFIG_FILE", "AWS_REGION"}, []string{"credentials", "region"}},
	{[]string{"GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG"}, []string{"default credentials", "gcloud"}},
	{[]string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"}, []string{"display", "x server", "headed browser"}},
	{[]string{"DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"}, []string{"d-bus", "dbus", "keyring", "secret service"}},
	{[]string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"},
		[]string{"proxy", "econnrefused", "etimedout", "eai_again", "enotfound", "timed out", "unreachable", "name resolution", "failed to fetch"}},
	{[]string{"npm_config_registry", "NPM_CONFIG_REGISTRY", "NPM_TOKEN", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_INDEX_URL"},
		[]string{"e401", "e404", "registry", "package index"}},
}

// variableName is a word of a program that can be the name of a variable.
var variableName = regexp.MustCompile(`\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b`)

// keptVariables names the variables that are set here, that the server does not get, and that
// what it wrote to its standard error is about; empty if there are none.
func (t *trouble) keptVariables(stderr string) string {
	words := t.stderr + "\n" + stderr
	small := strings.ToLower(words)
	names := variableName.FindAllString(words, -1)
	for _, trouble := range troubles {
		if slices.ContainsFunc(trouble.words, func(word string) bool { return strings.Contains(small, word) }) {
			names = append(names, trouble.names...)
		}
	}
	passed := transport.BaseEnv(t.entry.Command)
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		value, set := os.LookupEnv(name)
		_, given := t.entry.Env[name]
		return !set || given || slices.Contains(passed, name+"="+value)
	})
	if len(names) == 0 {
		return ""
	}
	names = names[:min(len(names), 4)]
	return fmt.Sprintf("What it wrote is about something for which %s is set where this program runs, and a local server gets only a few variables of that environment. To pass it on, write \"env\": {%[2]q: \"${%[2]s}\"} in the entry.", strings.Join(names, ", "), names[0])
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
