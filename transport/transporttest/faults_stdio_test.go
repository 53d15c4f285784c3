//go:build unix

package transporttest_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// victimVariable holds the plan of a process that is a victim.
const victimVariable = "TRANSPORTTEST_VICTIM"

// stdout is the outlet of a process.
type stdout struct{ sync.Mutex }

func (*stdout) frame(message string) string { return message + "\n" }
func (*stdout) cut(bool)                    { os.Exit(0) }
func (*stdout) gone() <-chan struct{}       { return nil }

func (*stdout) raw(bytes string) error {
	_, err := os.Stdout.WriteString(bytes)
	return err
}

// beVictim does nothing unless this process is a victim; else it does not
// return.
func beVictim() {
	text := os.Getenv(victimVariable)
	if text == "" {
		return
	}
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		os.Exit(99)
	}
	v, err := newVictim(p)
	if err != nil {
		os.Exit(98)
	}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // or the runtime sees a deadlock
	if p.Deed == "exit for good" && v.calls > 0 {
		os.Exit(7)
	}
	if p.Deed == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	out := &stdout{}
	in := bufio.NewReader(os.Stdin)
	for !v.stopsReading.Load() && p.Deed != "silent" {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		go v.serve(line, out)
	}
	if v.stopsReading.Load() || p.Deed == "stubborn" || p.Deed == "silent" {
		select {}
	}
	os.Exit(0)
}
