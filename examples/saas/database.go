package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// runDatabase runs a PostgreSQL of its own in a temporary folder until ctx ends, and writes its URL. No
// other user of the machine can reach the folder, where its socket is.
func runDatabase(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "saas")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	attributes, err := unprivileged(dir)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	initdb, err := postgresProgram("initdb", dir, "-D", data, "-U", "saas", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err != nil {
		return err
	}
	initdb.SysProcAttr = attributes
	if text, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, text)
	}
	server, err := postgresProgram("postgres", dir, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off") // it is removed in the end
	if err != nil {
		return err
	}
	server.SysProcAttr = attributes
	var said bytes.Buffer // read when it has exited
	server.Stderr = &said
	if err := server.Start(); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() {
		err := server.Wait()
		if ctx.Err() == nil {
			err = fmt.Errorf("postgres ended: %w\n%s", err, &said)
		}
		exited <- err
	}()
	if err := awaitReady(filepath.Join(data, "postmaster.pid"), exited); err != nil {
		return err
	}
	fmt.Fprintln(out, "postgres:///postgres?"+url.Values{"host": {dir}, "user": {"saas"}}.Encode())
	select {
	case err := <-exited:
		return err
	case <-ctx.Done():
	}
	if server.Process.Signal(os.Interrupt) != nil { // at which it ends all connections, and itself
		_ = server.Process.Kill()
	}
	return <-exited
}

// awaitReady waits until a server has written into its file that it is ready, as pg_ctl does. Before that it misses
// the signal to end.
func awaitReady(file string, exited chan error) error {
	for {
		if text, _ := os.ReadFile(file); bytes.Contains(text, []byte("\nready")) {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case err := <-exited:
			return err
		}
	}
}

// postgresProgram returns a command of PostgreSQL, which Debian keeps out of PATH.
func postgresProgram(name, dir string, args ...string) (*exec.Cmd, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
		if len(found) == 0 {
			return nil, errors.New("there is no " + name + ": install PostgreSQL, or name one that runs by -database")
		}
		path = found[len(found)-1]
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	return cmd, nil
}
