//go:build unix

package main

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// unprivileged returns how the programs of PostgreSQL are started: away from the terminal's signals and, as they
// refuse to run as root, by another user then, to whom the folder is given.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() != 0 {
		return attributes, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attributes, os.Chown(dir, uid, gid)
}
