package docker

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
)

// An envFile shows one docker program the variables of its container, by a file of
// the user's, since no other can be given to a process on Windows.
type envFile struct {
	path string
	text string
}

func newEnvFile(text string) *envFile {
	return &envFile{filepath.Join(os.TempDir(), "mcpbelt-"+rand.Text()), text}
}

// start writes the file and starts the program.
func (f *envFile) start(cmd *exec.Cmd, start func(*exec.Cmd) error) error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(f.text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = start(cmd)
	}
	if err != nil {
		f.close()
	}
	return err
}

// close is called after the end of the program.
func (f *envFile) close() { _ = os.Remove(f.path) }
