package keyringstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session/filestore"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

// roleVar tells a process that a test started what it is for.
const roleVar = "MCPBELT_KEYRINGSTORE_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) == "ask" {
		askUntilTold()
		return
	}
	goleak.VerifyTestMain(m)
}

// home gives the test a cache folder of its own.
func home(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, dir)
	}
}

// open opens a store in files with a key from the keyring.
func open(ctx context.Context, dir, service string) (*seal.Store, error) {
	return filestore.Open(ctx, dir, &filestore.Options{Keys: Key(service)})
}

func expectKeyError(t *testing.T, err error) {
	t.Helper()
	assert.Contains(t, assert.As[*seal.KeyError](t, err).Source, "keyring", "source")
}

func TestKeyIsMadeOnce(t *testing.T) {
	home(t)
	shared := &slowRing{texts: map[string]string{}}
	answers := make(chan func(testing.TB) *seal.Keys, 8)
	for range cap(answers) { // each as a program of its own
		a := newAsker("test")
		a.ring = shared
		go func() { answers <- assert.Value(ask(t.Context(), a, a.fail, a.getOrMake)) }()
	}
	first := (<-answers)(t).Current
	for range cap(answers) - 1 {
		assert.True(t, (<-answers)(t).Current == first, "all have the same key")
	}
}

// A slowRing lets others in between all it does.
type slowRing struct {
	mu    sync.Mutex
	texts map[string]string
}

func (r *slowRing) Get(service, account string) (string, error) {
	runtime.Gosched()
	r.mu.Lock()
	defer r.mu.Unlock()
	text, ok := r.texts[service+account]
	if !ok {
		return "", keyring.ErrNotFound
	}
	return text, nil
}

func (r *slowRing) Set(service, account, text string) error {
	runtime.Gosched()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts[service+account] = text
	return nil
}

func (r *slowRing) Delete(service, account string) error { return errors.ErrUnsupported }

func TestRotation(t *testing.T) {
	home(t)
	keyring.MockInit()
	dir := t.TempDir()
	s := assert.Value(open(t.Context(), dir, ""))(t)
	defer s.Close()
	old := assert.Value(keyring.Get(defaultService, account))(t)
	added := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("n"), seal.KeySize))
	assert.OK(t, keyring.Set(defaultService, account, added+","+old))
	assert.Value(s.Rotate(t.Context()))(t)
	assert.OK(t, keyring.Set(defaultService, account, added))
	again := assert.Value(open(t.Context(), dir, defaultService))(t)
	defer again.Close()
	assert.OK(t, keyring.Set(defaultService, account, old))
	assert.As[*seal.KeyError](t, errOf(open(t.Context(), dir, "")))
	assert.As[*seal.KeyError](t, errOf(open(t.Context(), dir, "another")))
}

func TestNoKeyring(t *testing.T) {
	home(t)
	keyring.MockInitWithError(errors.New("no such service"))
	dir := filepath.Join(t.TempDir(), "store")
	expectKeyError(t, assert.Err(open(t.Context(), dir, "")))
	assert.Equal(t, len(assert.Value(filepath.Glob(filepath.Join(dir, "key*")))(t)), 0, "keys in files")
}

func TestSpoiltEntry(t *testing.T) {
	home(t)
	keyring.MockInit()
	assert.OK(t, keyring.Set("test", account, "canary"))
	_, err := Key("test")(t.Context())
	expectKeyError(t, err)
	assert.Lacks(t, err.Error(), "canary")
	assert.Equal(t, assert.Value(keyring.Get("test", account))(t), "canary", "the entry")
}

// A stuckRing answers when it is let go.
type stuckRing struct{ asked, letGo chan struct{} }

func (r stuckRing) Get(string, string) (string, error) {
	r.asked <- struct{}{}
	<-r.letGo
	return strings.Repeat("ab", seal.KeySize), nil
}

func (r stuckRing) Set(string, string, string) error { return nil }
func (r stuckRing) Delete(string, string) error      { return nil }

func TestKeyringThatDoesNotAnswer(t *testing.T) {
	r := stuckRing{asked: make(chan struct{}, 100), letGo: make(chan struct{})}
	a := newAsker("test")
	a.ring = r
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { assert.Is(t, errOf(ask(ctx, a, a.fail, a.getOrMake)), context.Canceled) })
	}
	<-r.asked
	cancel()
	wg.Wait()

	a.wait = time.Millisecond
	_, err := ask(t.Context(), a, a.fail, a.getOrMake)
	expectKeyError(t, err)
	assert.Is(t, err, context.DeadlineExceeded)
	assert.Equal(t, len(r.asked), 0, "requests more while it did not answer")
	a.wait = time.Hour
	close(r.letGo)
	assert.OK(t, errOf(ask(t.Context(), a, a.fail, a.getOrMake)), "after it was unlocked")
}

// TestBusThatDoesNotAnswer asks the real keyring code, with a bus that takes
// connections and says nothing. It does so in another process, since the stand-in
// of the keyring cannot be taken back.
func TestBusThatDoesNotAnswer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the Secret Service is for Linux")
	}
	path := filepath.Join(t.TempDir(), "bus")
	l := assert.Value(net.Listen("unix", path))(t)
	defer l.Close()
	cmd := exec.Command(assert.Value(os.Executable())(t))
	cmd.Env = append(os.Environ(), roleVar+"=ask", "DBUS_SESSION_BUS_ADDRESS=unix:path="+path)
	stdin := assert.Value(cmd.StdinPipe())(t)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	assert.OK(t, cmd.Start())
	conn, err := l.Accept() // it waits for the bus now
	assert.OK(t, err)
	defer conn.Close()
	assert.OK(t, errors.Join(stdin.Close(), cmd.Wait()))
	assert.Contains(t, out.String(), "did not answer", "the process said")
}

// askUntilTold asks for keys until standard input ends.
func askUntilTold() {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Println(assert.Err(Key("test")(ctx)))
}

func ExampleKey() {
	store, err := filestore.Open(context.Background(), "sessions", &filestore.Options{Keys: Key("my agent")})
	var key *seal.KeyError
	if errors.As(err, &key) {
		fmt.Println("no keyring:", key)
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
}

// errOf returns the error of a call that returns a value as well.
func errOf[V any](_ V, err error) error { return err }
