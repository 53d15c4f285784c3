package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
)

// A postgres is a PostgreSQL server of its own, in a folder of its own.
type postgres struct {
	dir     string
	process *exec.Cmd
	db      *sql.DB
}

// postgresProgram finds a program of PostgreSQL, which distributions keep out of PATH; empty: there is none.
func postgresProgram(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is good
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// startPostgres starts a server with the settings that initdb gives it, which listens on a socket in its folder.
func startPostgres(ctx context.Context) (p *postgres, err error) {
	dir, err := os.MkdirTemp("", "pg") // a socket's path must be short
	if err != nil {
		return nil, err
	}
	p = &postgres{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	as, err := unprivileged(dir)
	if err != nil {
		return p, err
	}
	initialize := exec.CommandContext(ctx, postgresProgram("initdb"), "-D", filepath.Join(dir, "data"), "-U", "growth", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
	as(initialize)
	if out, err := initialize.CombinedOutput(); err != nil {
		return p, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	cmd := exec.Command(postgresProgram("postgres"), "-D", filepath.Join(dir, "data"), "-k", dir, "-c", "listen_addresses=")
	as(cmd)
	if err := cmd.Start(); err != nil {
		return p, err
	}
	p.process = cmd
	dsn := "postgres:///postgres?" + url.Values{"host": {dir}, "user": {"growth"}}.Encode()
	if p.db, err = sql.Open("pgx", dsn); err != nil {
		return p, err
	}
	for {
		err := p.db.PingContext(ctx)
		if err == nil {
			return p, nil
		}
		if ctx.Err() != nil || !strings.Contains(err.Error(), "connect") && !strings.Contains(err.Error(), "starting up") {
			return p, err
		}
		time.Sleep(20 * time.Millisecond) // it says nowhere else that it is ready
	}
}

func (p *postgres) close() error {
	var err error
	if p.db != nil {
		err = p.db.Close()
	}
	if p.process != nil {
		err = errors.Join(err, p.process.Process.Signal(os.Interrupt), p.process.Wait())
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// unprivileged returns what makes a program run as a user without all rights: PostgreSQL does not start
// otherwise. The folder becomes that user's.
func unprivileged(dir string) (func(*exec.Cmd), error) {
	if os.Getuid() != 0 {
		return func(*exec.Cmd) {}, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid) // of this system's own form
	gid, _ := strconv.Atoi(u.Gid)
	return func(cmd *exec.Cmd) {
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}, os.Chown(dir, uid, gid)
}

// busy returns the processor time that the server and its processes have taken, in seconds.
func (p *postgres) busy() float64 {
	const ticks = 100 // a second, in what Linux tells programs
	parent := strconv.Itoa(p.process.Process.Pid)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	sum := 0
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// Behind the name, which is in brackets: state, parent; utime and stime are the 12th and 13th, those of children
		// that have ended the 14th and 15th.
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		last := 13
		switch {
		case len(fields) < 15:
			continue
		case filepath.Base(filepath.Dir(name)) == parent:
			last = 15
		case fields[1] != parent:
			continue
		}
		for _, field := range fields[11:last] {
			n, _ := strconv.Atoi(field)
			sum += n
		}
	}
	return float64(sum) / ticks
}
