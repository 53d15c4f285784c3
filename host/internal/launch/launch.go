// Package launch makes what the entry of a server starts: its command, and the transport to
// it.
package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/transport"
)

// Of returns what starting the server would mean at this moment. It fails with a
// [*transport.StartError] if there is no such program.
func Of(e *config.Server) (*consent.Launch, error) {
	l := RealMounts(e).Launch()
	if e.Transport != config.TransportStdio || e.Isolation != nil && e.Isolation.Kind == config.IsolationDocker {
		return l, nil // the container has command and folder
	}
	var err error
	if l.Dir, err = filepath.Abs(e.Cwd); err == nil {
		l.Path, err = program(e.Command, l.Dir)
	}
	if err != nil {
		return nil, &transport.StartError{Path: e.Command, Err: err}
	}
	return l, nil
}

// program returns the absolute path of what os/exec would run as command in
// dir: what has no separator is looked up in the PATH of this process, all else from
// dir.
func program(command, dir string) (string, error) {
	inPath, windows := filepath.Base(command) == command, runtime.GOOS == "windows"
	if !inPath && windows && filepath.VolumeName(command) == "" && !os.IsPathSeparator(command[0]) {
		command = filepath.Join(dir, command)
	}
	if inPath || windows {
		found, err := exec.LookPath(command) // which adds .exe and the like there
		if err != nil {
			return "", err
		}
		return filepath.Abs(found)
	}
	if filepath.IsAbs(command) {
		return command, nil
	}
	if strings.Contains(command, "..") {
		return dir + "/" + command, nil // a link in front of .. leads elsewhere than Join
	}
	return filepath.Join(dir, command), nil
}

// RealMounts returns the entry with the folders that its mounts really are, so
// that a link of a project that leads to another folder now does not open that one.
func RealMounts(e *config.Server) *config.Server {
	if e.Isolation == nil || len(e.Isolation.Mounts) == 0 {
		return e
	}
	real, isolation := *e, *e.Isolation
	isolation.Mounts = slices.Clone(isolation.Mounts)
	for i := range isolation.Mounts {
		m := &isolation.Mounts[i]
		path, err := filepath.EvalSymlinks(m.Path)
		if err != nil || path == m.Path {
			continue
		}
		if m.Target == "" && isolation.Kind == config.IsolationDocker {
			m.Target = filepath.ToSlash(m.Path) // in the container it stays where it was
		}
		m.Path = path
	}
	real.Isolation = &isolation
	return &real
}
