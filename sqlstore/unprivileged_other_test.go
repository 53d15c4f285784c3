//go:build integration && !unix

package sqlstore_test

import (
	"os/exec"
	"testing"
)

func unprivileged(testing.TB, string) func(*exec.Cmd) { return func(*exec.Cmd) {} }
