//go:build !unix

package pgtest

import (
	"os/exec"
	"testing"
)

// Unprivileged returns a function that does nothing.
func Unprivileged(testing.TB, string) func(*exec.Cmd) { return func(*exec.Cmd) {} }
