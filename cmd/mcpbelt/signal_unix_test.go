//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// gone is how long the process of a server may live when its command has ended.
const gone = time.Minute

// runAndSignal runs a command that starts a server with the flag -mark started, sends it
// a signal by its number when the server runs, and returns the exit of the command as a
// shell has it. It fails if the server lives on.
func runAndSignal(args []string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	number, err := strconv.Atoi(args[0])
	if err != nil {
		return fail(err)
	}
	if err := syscall.Mkfifo("started", 0o600); err != nil {
		return fail(err)
	}
	defer os.Remove("started")
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
		if f, err := os.OpenFile("started", os.O_RDWR, 0); err == nil { // there may be no server
			_ = f.Close()
		}
	}()
	server, err := os.Open("started") // waits for the server, which keeps it open, or the end
	if err != nil {
		return fail(err)
	}
	defer server.Close()
	line := bufio.NewReader(server)
	if _, err := line.ReadString('\n'); err != nil {
		return fail(err)
	}
	if err := cmd.Process.Signal(syscall.Signal(number)); err != nil {
		return fail(err)
	}
	<-ended
	if err := server.SetReadDeadline(time.Now().Add(gone)); err != nil {
		return fail(err)
	}
	if _, err := io.Copy(io.Discard, line); err != nil {
		return fail(fmt.Errorf("the server lives on: %w", err))
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}
