package record_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) {
	if play() {
		return
	}
	goleak.VerifyTestMain(m)
}

// play does the part of a test that is for a process of its own, and reports whether
// there is one.
func play() bool {
	part, arg, _ := strings.Cut(os.Getenv("RECORD_TEST_ROLE"), " ")
	if part != "status" {
		return false
	}
	path, name, _ := strings.Cut(arg, "|")
	f := record.OpenStatusFile(path)
	for i := range 20 {
		err := f.SaveStatuses(context.Background(), map[string]record.LastStatus{fmt.Sprint(name, i): {Status: record.StatusConnected, Tools: i}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	return true
}

// roleVar makes the test program play a part in a process of its own, see play.
const roleVar = "RECORD_TEST_ROLE"

// process starts the test program with a part to play, and returns what waits for it.
func process(t *testing.T, part string) (wait func()) {
	t.Helper()
	program := assert.Value(os.Executable())(t)
	cmd := exec.Command(program)
	// The race detector waits for a second when a program ends.
	cmd.Env = append(os.Environ(), roleVar+"="+part, "GORACE=atexit_sleep_ms=10 "+os.Getenv("GORACE"))
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	assert.OK(t, cmd.Start())
	return func() { assert.Is(t, cmd.Wait(), nil, "%s", part) }
}

func TestStatusFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "mcpbelt", "status.json")
	f := record.OpenStatusFile(path)
	assert.Equal(t, len(assert.Value(f.Statuses(t.Context()))(t)), 0, "before anything was saved")
	now := time.Now()
	want := map[string]record.LastStatus{
		"a": {Status: record.StatusConnected, Connected: now, Tools: 3},
		"b": {Status: record.StatusError, Error: "it is gone", Connected: now.Add(-time.Hour)},
		"c": {Status: record.StatusDisconnected},
	}
	save := func(changes map[string]record.LastStatus) {
		t.Helper()
		assert.OK(t, f.SaveStatuses(t.Context(), changes))
	}
	save(want)
	save(map[string]record.LastStatus{"c": {}, "d": {Status: record.StatusConnected}})
	delete(want, "c")
	want["d"] = record.LastStatus{Status: record.StatusConnected}
	got, err := record.OpenStatusFile(path).Statuses(t.Context())
	if err != nil || !maps.EqualFunc(got, want, func(a, b record.LastStatus) bool {
		same := a.Connected.Equal(b.Connected)
		a.Connected = b.Connected
		return same && a == b
	}) {
		t.Errorf("got %v, %v", got, err)
	}
	info, err := os.Stat(path)
	assert.True(t, err == nil && (runtime.GOOS == "windows" || info.Mode().Perm() == 0o600), "%v, %v", info, err)
	// What changes nothing writes nothing.
	save(map[string]record.LastStatus{"a": want["a"], "gone": {}})
	assert.True(t, os.SameFile(info, assert.Value(os.Stat(path))(t)), "the file was replaced though nothing changed")
	for _, damaged := range []string{"", "{", "[]", `{"version": 7}`, `{"version": 1, "servers": {"a": 7}}`} {
		assert.OK(t, os.WriteFile(path, []byte(damaged), 0o600))
		assert.Equal(t, len(assert.Value(f.Statuses(t.Context()))(t)), 0, "%s", damaged)
		save(map[string]record.LastStatus{"x": {Status: record.StatusConnected}})
		assert.Equal(t, len(assert.Value(f.Statuses(t.Context()))(t)), 1, "after %s", damaged)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, assert.Err(f.Statuses(ended)), context.Canceled)
	assert.Is(t, f.SaveStatuses(ended, nil), context.Canceled)
}

func TestStatusFileOfManyProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status.json")
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(process(t, fmt.Sprintf("status %s|p%d-", path, i)))
	}
	wg.Wait()
	assert.Equal(t, len(assert.Value(record.OpenStatusFile(path).Statuses(t.Context()))(t)), 60)
}

func TestMaskError(t *testing.T) {
	s := &config.Server{
		URL:     "https://h/?key=" + longSecret,
		Args:    []string{"--token", "argument-secret", "visible"},
		Env:     map[string]config.Secret{"A_KEY": "env-secret", "B_KEY": "env-secret-longer", "C": "x"},
		Headers: map[string]config.Secret{"Authorization": "Bearer header-secret"},
		Auth:    &config.Auth{ClientSecret: "client-secret"},
	}
	err := fmt.Errorf("visible x: Get %q: argument-secret env-secret-longer env-secret\nheader-secret client-secret %s ghp_%s\x1b[31m%s",
		s.URL, longSecret, strings.Repeat("a1", 18), strings.Repeat("z", 5000))
	text := s.MaskError(err)
	assert.LacksAll(t, text, "secret", "0123456789", "a1a1", "\n", "\x1b")
	assert.True(t, strings.HasPrefix(text, "visible x: Get"), "begins %q", text)
	assert.True(t, len(text) <= 2100, "%d bytes", len(text))
	assert.Equal(t, s.MaskError(nil), "", "nil has a text")
}
