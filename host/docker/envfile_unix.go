//go:build unix

package docker

import (
	"os"
	"os/exec"
	"sync"
)

// An envFile shows one docker program the variables of its container, by a pipe: they
// are never on a disk. It owns one goroutine, which ends when the program has read
// all, when it has ended, and with close.
type envFile struct {
	path string // what the program opens
	text string
	ours *os.File // nil before start
	wg   sync.WaitGroup
}

func newEnvFile(text string) *envFile {
	return &envFile{path: "/dev/fd/3", text: text} // the first of ExtraFiles
}

// start starts the program with the pipe.
func (f *envFile) start(cmd *exec.Cmd, start func(*exec.Cmd) error) error {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = theirs.Close() }()
	cmd.ExtraFiles = []*os.File{theirs}
	if err := start(cmd); err != nil {
		_ = ours.Close()
		return err
	}
	f.ours = ours
	f.wg.Go(func() {
		_, _ = ours.WriteString(f.text) // a program that does not read it says why itself
		_ = ours.Close()
	})
	return nil
}

// close is called after the end of the program.
func (f *envFile) close() {
	_ = f.ours.Close()
	f.wg.Wait()
}
