//go:build !unix

package main

import "syscall"

// unprivileged returns how the programs of PostgreSQL are started: as this one was.
func unprivileged(string) (*syscall.SysProcAttr, error) { return nil, nil }
