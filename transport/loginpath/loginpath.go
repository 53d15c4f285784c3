package loginpath

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// loginShellTimeout bounds the start files of a shell.
const loginShellTimeout = 10 * time.Second

// Read returns the PATH that programs get in the user's terminal, in the form of the
// variable. A program that was started from a desktop has a shorter one, in which npx or
// uvx are often missing. Nothing here uses it by itself: a program that wants its servers
// found there sets its own PATH to it, before it starts any.
//
// It runs the user's login shell, SHELL or else /bin/sh, with its start files, for 10 s at
// most, and puts behind what that says the folders of the present PATH. On Windows, where
// there is no such shell, it adds the folders of Node.js that exist; the endings of
// programs, such as .cmd, are found in any PATH. With an error the result is the present
// PATH.
func Read(ctx context.Context) (string, error) { return read(ctx, loginShellTimeout) }

func read(ctx context.Context, within time.Duration) (string, error) {
	present := os.Getenv("PATH")
	if runtime.GOOS == "windows" {
		return joinPaths(present, existing(
			filepath.Join(os.Getenv("ProgramFiles"), "nodejs"), filepath.Join(os.Getenv("APPDATA"), "npm"))), nil
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	shell := os.Getenv("SHELL")
	if !filepath.IsAbs(shell) {
		shell = "/bin/sh"
	}
	const mark = "mcpbelt-path:"
	cmd := exec.CommandContext(ctx, shell, "-i", "-l", "-c", "printf '\\n%s\\n' "+mark+" && exec /usr/bin/env")
	detach(cmd)
	cmd.WaitDelay = time.Second // start files may leave processes behind
	out, err := cmd.Output()
	_, variables, found := bytes.Cut(out, []byte("\n"+mark+"\n")) // start files may greet
	switch {
	case ctx.Err() != nil:
		return present, fmt.Errorf("loginpath: the login shell %s did not end: %w", shell, ctx.Err())
	case !found && err != nil:
		return present, fmt.Errorf("loginpath: the login shell %s cannot be run: %w", shell, err)
	}
	for line := range strings.Lines(string(variables)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "PATH="); ok {
			return joinPaths(path, present), nil
		}
	}
	return present, errors.New("loginpath: the login shell " + shell + " has no PATH")
}

func existing(folders ...string) string {
	folders = slices.DeleteFunc(folders, func(folder string) bool {
		info, err := os.Stat(folder)
		return err != nil || !info.IsDir() || !filepath.IsAbs(folder)
	})
	return strings.Join(folders, string(os.PathListSeparator))
}

// joinPaths puts the absolute folders of lists behind each other, each once.
func joinPaths(lists ...string) string {
	var folders []string
	for _, list := range lists {
		for _, folder := range filepath.SplitList(list) {
			if filepath.IsAbs(folder) && !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
	}
	return strings.Join(folders, string(os.PathListSeparator))
}
