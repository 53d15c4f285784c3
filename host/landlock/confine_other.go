//go:build !linux || !(amd64 || arm64 || riscv64 || loong64)

package landlock

import (
	"errors"
	"os/exec"
	"runtime"
)

var errSystem = errors.New("there is no Landlock on " + runtime.GOOS + "/" + runtime.GOARCH + ": use the kind \"docker\"")

func possible(*confinement) error { return errSystem }

func startConfined(*exec.Cmd, *confinement) error { return errSystem }
