// Tests of commit.go and file.go: processes that are killed, and that write at the same time.

package ledger

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// pathVar makes the test binary a program that approves in a loop.
const pathVar = "MCPBELT_TEST_LEDGER"

// TestLedgerProgram is that program. It approves one tool after the other, tells
// of each when it is approved, and ends when it is killed or told to.
func TestLedgerProgram(t *testing.T) {
	path := os.Getenv(pathVar)
	if path == "" {
		t.Skip("only as a process of its own")
	}
	who, most := os.Getenv(pathVar+"_WHO"), 1<<30
	if n, err := strconv.Atoi(os.Getenv(pathVar + "_N")); err == nil {
		most = n
	}
	l := openLedger(t, path, Pin)
	// In the mode review nothing is approved by being there, and each process has its own
	// server, so that the only thing in common is the file.
	server := &Server{Name: who, Mode: Review}
	ctx := context.Background()
	if os.Getenv(pathVar+"_GROUP") != "" {
		recordTogether(t, l, who, most)
		return
	}
	for i := range most {
		l.noted = map[string]time.Time{} // as if a minute had passed
		name := fmt.Sprint("t", i)
		assert.OK(t, l.Record(ctx, *server, surfacesIn(surfaceTool(name))))
		assert.OK(t, l.Accept(ctx, who, l.Pending(who)...))
		if _, err := fmt.Printf("\nacknowledged %s %s\n", who, name); err != nil {
			return
		}
	}
}

// recordTogether pins new servers from several goroutines, so that they are written in
// groups, and tells of each when it is pinned.
func recordTogether(t *testing.T, l *Ledger, who string, most int) {
	var next atomic.Int64
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for i := next.Add(1); i <= int64(most); i = next.Add(1) {
				server := fmt.Sprint(who, "-", i)
				if err := l.Record(context.Background(), Server{Name: server}, surfacesIn(surfaceTool("t"))); err != nil {
					t.Error(err)
					return
				}
				if _, err := fmt.Printf("\nacknowledged %s t\n", server); err != nil {
					return
				}
			}
		})
	}
	work.Wait()
}

// A ledgerProcess is a process that approves.
type ledgerProcess struct {
	cmd   *exec.Cmd
	acks  chan string // "server tool"; closed when it has ended
	ended error       // once acks is closed
}

// startLedgerProcess starts a process that approves n tools, or without end if n is 0, one
// after the other or in groups.
func startLedgerProcess(t *testing.T, path, who string, n int, group bool) *ledgerProcess {
	t.Helper()
	cmd := exec.Command(assert.Value(os.Executable())(t), "-test.run=^TestLedgerProgram$", "-test.timeout=5m")
	// The race detector waits for a second when a program ends.
	cmd.Env = append(os.Environ(), pathVar+"="+path, pathVar+"_WHO="+who, "GORACE=atexit_sleep_ms=10 "+os.Getenv("GORACE"))
	if n > 0 {
		cmd.Env = append(cmd.Env, pathVar+"_N="+strconv.Itoa(n))
	}
	if group {
		cmd.Env = append(cmd.Env, pathVar+"_GROUP=1")
	}
	cmd.Stderr = os.Stderr
	out := assert.Value(cmd.StdoutPipe())(t)
	assert.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	p := &ledgerProcess{cmd: cmd, acks: make(chan string, 1<<16)}
	go func() { // ends with the process
		defer close(p.acks)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil { // a last line that is not whole acknowledges nothing
				p.ended = cmd.Wait()
				return
			}
			if ack, ok := strings.CutPrefix(line, "acknowledged "); ok {
				p.acks <- strings.TrimSpace(ack)
			}
		}
	}()
	return p
}

// TestKilledWhileApproving kills processes at any moment, of which one approves tool by tool
// and one many at the same time. What was acknowledged is
// there, the file is sound, and no more than one file is left beside it. MCPBELT_SOAK=1
// kills 2,000 of them.
func TestKilledWhileApproving(t *testing.T) {
	rounds := assert.Cases(2, 10) // of two processes each
	if os.Getenv("MCPBELT_SOAK") != "" {
		rounds = 1000
	}
	path := ledgerPath(t)
	acked := map[string]bool{}
	most := 0
	for i := range rounds {
		if i%8 == 7 { // so that it does not become long
			assert.OK(t, os.Remove(path))
			clear(acked)
		}
		p := startLedgerProcess(t, path, fmt.Sprint("p", i), 0, false)
		other := startLedgerProcess(t, path, fmt.Sprint("q", i), 0, true)
		// Each is killed somewhere between two acknowledgements: how far it gets
		// after the last one is up to the scheduler and to this loop.
		for range 1 + rand.IntN(3) {
			ack, running := <-p.acks
			assert.True(t, running, "a process runs until it is killed")
			acked[ack] = true
		}
		for range rand.IntN(20_000) {
			runtime.Gosched()
		}
		for _, p := range []*ledgerProcess{p, other} {
			_ = p.cmd.Process.Kill()
		}
		for _, p := range []*ledgerProcess{p, other} {
			for ack := range p.acks {
				acked[ack] = true
			}
		}
		most = max(most, len(assert.Value(os.ReadDir(filepath.Dir(path)))(t)))
		approved := entriesIn(t, path)
		for ack := range acked {
			assert.True(t, approved[ack], "after %d kills %q, which was acknowledged, is approved", 2*i+2, ack)
		}
		assert.Equal(t, len(assert.Value(os.ReadDir(filepath.Dir(path)))(t)), 1, "files after opening")
	}
	assert.Between(t, most, 0, 2, "files at once")
	t.Logf("%d kills, up to %d files", 2*rounds, most)
}

func TestProcessesApproveAtOnce(t *testing.T) {
	const processes, each = 3, 6
	path := ledgerPath(t)
	var running []*ledgerProcess
	for i := range processes {
		running = append(running, startLedgerProcess(t, path, fmt.Sprint("p", i), each, i%2 == 1))
	}
	acked := 0
	for _, p := range running {
		for range p.acks {
			acked++
		}
		assert.OK(t, p.ended, "a process")
	}
	approved := entriesIn(t, path)
	assert.Equal(t, acked, processes*each, "approvals that were acknowledged")
	assert.Equal(t, len(approved), acked, "approvals that are there")
}
