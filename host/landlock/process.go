package landlock

import (
	"os"
	"os/exec"
)

// A process is one start of a server.
type process struct {
	confinement
	before func() // what else is to be done at its end; nil: nothing
	folder string // its temporary folder; empty: none
}

// start starts the process confined.
func (p *process) start(cmd *exec.Cmd) error {
	err := p.makeTemp(cmd)
	if err == nil {
		err = startConfined(cmd, &p.confinement)
	}
	if err != nil {
		p.removeTemp()
	}
	return err
}

func (p *process) makeTemp(cmd *exec.Cmd) error {
	if !p.temp {
		return nil
	}
	folder, err := os.MkdirTemp("", "mcpbelt-")
	if err != nil {
		return err
	}
	p.folder = folder
	p.write = append(p.write, folder)
	cmd.Env = append(cmd.Env, tempVariable+"="+folder)
	return nil
}

func (p *process) removeTemp() {
	if p.folder != "" {
		_ = os.RemoveAll(p.folder) // what the server has locked up there is left to the system
	}
}

// ended clears up after the process.
func (p *process) ended() {
	p.removeTemp()
	if p.before != nil {
		p.before()
	}
}
