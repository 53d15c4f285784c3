package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// A member is the process of one client, seen from the one that measures.
type member struct {
	peer    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies *json.Decoder
}

func startMember(ctx context.Context, peer string, o *options) (*member, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{roleClient, "-procs", strconv.Itoa(o.procs)}
	if peer == peerOurs {
		args = append(args, "-cpuprofile", o.cpuProfile)
	}
	m := &member{peer: peer, cmd: exec.CommandContext(ctx, program, append(args, peer)...)}
	m.cmd.Stderr = os.Stderr
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	m.replies = json.NewDecoder(out)
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	return m, nil
}

// turn lets the client do its part of a round.
func (m *member) turn(ctx context.Context, w work, o *options) (cell, error) {
	if !w.fresh {
		return m.measure(w, o.slot, o.servers)
	}
	plain := *o
	plain.cpuProfile = "" // the file belongs to m
	fresh, err := startMember(ctx, m.peer, &plain)
	if err != nil {
		return cell{}, err
	}
	c, err := fresh.measure(w, o.slot, o.servers)
	return c, errors.Join(err, fresh.close())
}

// measure lets the client work for a while.
func (m *member) measure(w work, slot time.Duration, servers int) (cell, error) {
	if err := json.NewEncoder(m.in).Encode(order{Work: w.name, Slot: slot, Servers: servers}); err != nil {
		return cell{}, fmt.Errorf("%s: %s: %w", m.peer, w.name, err)
	}
	var r reply
	err := m.replies.Decode(&r)
	if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	if err != nil {
		return cell{}, fmt.Errorf("%s: %s: %w", m.peer, w.name, err)
	}
	return r.Cell, nil
}

// close ends the client, which ends its servers.
func (m *member) close() error {
	err := errors.Join(m.in.Close(), m.cmd.Wait())
	if err != nil {
		return fmt.Errorf("%s: %w", m.peer, err)
	}
	return nil
}
