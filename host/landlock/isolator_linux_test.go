package landlock_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/sys/unix"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/landlock"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A child is a confined process.
type child struct {
	testing.TB
	conn mcp.Conn
	n    int
}

func entry(i config.Isolation) *config.Server {
	i.Kind = config.IsolationLandlock
	return &config.Server{Name: "child", Transport: config.TransportStdio, Isolation: &i}
}

func command(t testing.TB) *transport.Command {
	self := assert.Value(os.Executable())(t)
	return &transport.Command{Path: self, Env: []string{childMode + "=1", "GORACE=atexit_sleep_ms=0"}, CloseTimeout: 10 * time.Second}
}

// start starts the test program confined.
func start(t testing.TB, opts *landlock.Options, i config.Isolation) *child {
	t.Helper()
	conn := assert.Value(assert.Value(landlock.New(opts).Isolate(t.Context(), entry(i), command(t)))(t).Connect(t.Context()))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return &child{TB: t, conn: conn}
}

// ask has the child do something, and returns its answer.
func (c *child) ask(words ...string) string {
	c.Helper()
	params := assert.Value(json.Marshal(map[string][]string{"words": words}))(c)
	c.n++
	id := assert.Value(jsonrpc.MakeID(float64(c.n)))(c)
	assert.OK(c, c.conn.Write(c.Context(), &jsonrpc.Request{ID: id, Method: "do", Params: params}))
	m := assert.Value(c.conn.Read(c.Context()))(c)
	var result struct{ Text string }
	assert.OK(c, json.Unmarshal(m.(*jsonrpc.Response).Result, &result))
	return result.Text
}

func (c *child) must(words ...string) {
	c.Helper()
	assert.Equal(c, c.ask(words...), "ok")
}

func (c *child) mustNot(words ...string) {
	c.Helper()
	got := c.ask(words...)
	for _, refusal := range []string{"permission denied", "operation not permitted", "invalid cross-device link"} {
		if strings.Contains(strings.ToLower(got), refusal) {
			return
		}
	}
	c.Errorf("%q: %s, want it forbidden", words, got)
}

func file(t testing.TB, name, text string) string {
	t.Helper()
	assert.OK(t, os.MkdirAll(filepath.Dir(name), 0o755))
	assert.OK(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	outside := file(t, filepath.Join(dir, "outside", "a"), "old")
	shown := file(t, filepath.Join(dir, "shown", "a"), "old")
	open := filepath.Join(dir, "open")
	inside := file(t, filepath.Join(open, "sub", "a"), "old")
	single := file(t, filepath.Join(dir, "single"), "old")
	c := start(t, nil, config.Isolation{Mounts: []config.Mount{
		{Path: open, Write: true}, {Path: filepath.Join(dir, "shown")}, {Path: single, Write: true},
	}})
	for _, path := range []string{outside, shown} {
		assert.Equal(t, c.ask("read", path), "old", "reading %s", path)
		c.mustNot("write", path)
		c.mustNot("write", path+"-new")
		c.mustNot("truncate", path)
		c.mustNot("remove", path)
		c.mustNot("mkdir", path+"-dir")
		c.mustNot("rename", path, path+"-moved")
		c.mustNot("rename", inside, path+"-moved")
		c.mustNot("rename", path, filepath.Join(open, "moved"))
		c.mustNot("link", path, filepath.Join(open, "linked"))
		c.mustNot("shell", "echo x >> '"+path+"' || exit 1")
		assert.True(t, strings.HasSuffix(c.ask("shell", "echo x > "+path+"; cat "+path), "old"), "a program of the child has changed %s", path)
	}
	assert.OK(t, os.Symlink(outside, filepath.Join(open, "link")))
	c.mustNot("write", filepath.Join(open, "link"))
	c.must("write", inside)
	c.must("truncate", inside)
	c.must("mkdir", filepath.Join(open, "new"))
	c.must("rename", inside, filepath.Join(open, "new", "b"))
	c.must("remove", filepath.Join(open, "new", "b"))
	c.must("write", single)
	c.must("write", "/dev/null")
}

// A program is found from the folder in which it is to run.
func TestRelativeProgram(t *testing.T) {
	recipe := command(t)
	recipe.Dir, recipe.Path = filepath.Dir(recipe.Path), "./"+filepath.Base(recipe.Path)
	confined := assert.Value(landlock.New(nil).Isolate(t.Context(), entry(config.Isolation{}), recipe))(t)
	assert.OK(t, assert.Value(confined.Connect(t.Context()))(t).Close())
}

// What may be read can be narrowed down.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	secret := file(t, filepath.Join(dir, "secret", "key"), "hidden")
	shown := file(t, filepath.Join(dir, "shown", "a"), "shown")
	written := file(t, filepath.Join(dir, "written", "a"), "written")
	mounts := []config.Mount{{Path: filepath.Dir(shown)}, {Path: filepath.Dir(written), Write: true}}
	system := []string{"/bin", "/usr", "/lib", "/lib64", "/etc", "/proc", "/not/there"}
	c := start(t, &landlock.Options{Read: system}, config.Isolation{Mounts: mounts})
	c.mustNot("read", secret)
	c.mustNot("shell", "cat "+secret+" 2>&1 || exit 1")
	assert.Equal(t, c.ask("read", shown), "shown", "reading what is mounted")
	assert.Equal(t, c.ask("read", written), "written", "reading what is mounted to write")
	assert.Equal(t, start(t, nil, config.Isolation{Mounts: mounts}).ask("read", secret), "hidden", "reading without Options")
}

// Each start has its own temporary folder, which goes with it.
func TestTemp(t *testing.T) {
	c := start(t, nil, config.Isolation{})
	name := c.ask("temp")
	assert.Value(os.Stat(name))(t)
	c.mustNot("write", filepath.Join(os.TempDir(), "mcpbelt-test-outside"))
	other := start(t, nil, config.Isolation{})
	assert.False(t, filepath.Dir(other.ask("temp")) == filepath.Dir(name), "two share a temporary folder")
	other.mustNot("write", name)
	assert.OK(t, c.conn.Close())
	assert.True(t, os.IsNotExist(assert.Err(os.Stat(filepath.Dir(name)))), "the temporary folder after Close")
}

func TestTempOfTheEntry(t *testing.T) {
	dir := t.TempDir()
	recipe := command(t)
	recipe.Env = append(recipe.Env, "TMPDIR="+dir)
	conn := assert.Value(assert.Value(landlock.New(nil).Isolate(t.Context(), entry(config.Isolation{}), recipe))(t).Connect(t.Context()))(t)
	defer func() { _ = conn.Close() }()
	c := &child{TB: t, conn: conn}
	assert.Equal(t, c.ask("env", "TMPDIR"), dir, "TMPDIR")
	c.mustNot("temp")
}

func TestNetwork(t *testing.T) {
	tcp := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = tcp.Close() }()
	udp := assert.Value(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	defer func() { _ = udp.Close() }()
	path := filepath.Join(t.TempDir(), "daemon")
	daemon := assert.Value(net.Listen("unix", path))(t)
	defer func() { _ = daemon.Close() }()
	c := start(t, nil, config.Isolation{})
	with := start(t, nil, config.Isolation{Network: true})
	for _, words := range [][]string{
		{"dial", "tcp", tcp.Addr().String()},
		{"listen", "tcp", "127.0.0.1:0"},
		{"dial", "udp", udp.LocalAddr().String()},
		{"dial", "unix", path},
		{"dial", "tcp", "[::1]:9"},
	} {
		c.mustNot(words...)
		if words[2] != "[::1]:9" {
			with.must(words...)
		}
	}
	c.must("pair")
	assert.Contains(t, c.ask("uring"), "not implemented", "io_uring")
}

// Other processes are out of reach: their environment may hold what is secret.
func TestOtherProcesses(t *testing.T) {
	c := start(t, nil, config.Isolation{})
	c.mustNot("read", fmt.Sprintf("/proc/%d/environ", os.Getpid()))
	c.mustNot("signal", fmt.Sprint(os.Getpid()))
	assert.Contains(t, c.ask("read", "/proc/self/environ"), childMode, "its own environment")
}

// This process stays as it is, on all its threads, also if many are confined at once.
func TestParentStaysFree(t *testing.T) {
	dir := t.TempDir()
	conns := make(chan mcp.Conn)
	const starts = 16
	for range starts {
		go func() {
			c, err := landlock.New(nil).Isolate(t.Context(), entry(config.Isolation{}), command(t))
			if err != nil {
				t.Error(err)
				conns <- nil
				return
			}
			conn, err := c.Connect(t.Context())
			assert.Is(t, err, nil)
			conns <- conn
		}()
	}
	for range starts {
		if conn := <-conns; conn != nil {
			defer func() { _ = conn.Close() }()
		}
	}
	written := make(chan error)
	for i := range 64 {
		go func() { written <- os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600) }()
	}
	for range 64 {
		assert.OK(t, <-written)
	}
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Error(err)
	} else {
		_ = l.Close()
	}
	free := 0
	threads := assert.Value(filepath.Glob("/proc/self/task/*/status"))(t)
	for _, path := range threads {
		status, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if strings.Contains(string(status), "State:\tX") || strings.Contains(string(status), "State:\tZ") {
			continue
		}
		if strings.Contains(string(status), "NoNewPrivs:\t0\n") && strings.Contains(string(status), "Seccomp:\t0\n") {
			free++
		} else {
			t.Errorf("a thread of ours is confined:\n%s", status)
		}
	}
	assert.False(t, free == 0, "no thread could be looked at")
}

// What this process holds open is not in reach of what it starts.
func TestDescriptors(t *testing.T) {
	kept := assert.Value(os.OpenFile(filepath.Join(t.TempDir(), "kept"), os.O_RDWR|os.O_CREATE, 0o600))(t)
	defer func() { _ = kept.Close() }()
	inherited, err := syscall.Dup(int(kept.Fd())) // as a shell passes it on
	assert.OK(t, err)
	defer func() { _ = syscall.Close(inherited) }()
	c := start(t, nil, config.Isolation{})
	for line := range strings.Lines(c.ask("descriptors")) {
		number, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case number <= "2" && len(number) == 1: // its pipes
		case strings.HasPrefix(what, "anon_inode:[event"), strings.HasPrefix(what, "/proc/"), strings.HasPrefix(what, "/sys/fs/cgroup/"):
			// opened by the runtime of Go
		default:
			t.Errorf("descriptor %s is %s", number, what)
		}
	}
	c.mustNot("write", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), kept.Fd()))
}

// No way round by another process: neither its memory, nor what traces it, nor names
// that are no files.
func TestOtherWays(t *testing.T) {
	c := start(t, nil, config.Isolation{Network: true})
	parent := fmt.Sprint(os.Getpid())
	c.mustNot("ptrace", parent)
	c.mustNot("memory", parent)
	c.mustNot("signal", parent)
	c.mustNot("shell", "mount -t tmpfs none /mnt 2>&1")
	c.mustNot("unshare")
	c.mustNot("mknod", filepath.Join(t.TempDir(), "device"))
	abstract := fmt.Sprintf("@mcpbelt-test-%d", os.Getpid())
	l := assert.Value(net.Listen("unix", abstract))(t)
	defer func() { _ = l.Close() }()
	c.mustNot("dial", "unix", abstract)
}

// What cannot be had is refused, never passed over.
func TestRefusals(t *testing.T) {
	for text, i := range map[string]config.Isolation{
		`"image"`:        {Image: "alpine"},
		`"args"`:         {Args: []string{"--memory=1g"}},
		"not absolute":   {Mounts: []config.Mount{{Path: "data"}}},
		"only a contain": {Mounts: []config.Mount{{Path: "/etc", Target: "/data"}}},
		"no such file":   {Mounts: []config.Mount{{Path: "/not/there"}}},
	} {
		c, err := landlock.New(nil).Isolate(t.Context(), entry(i), command(t))
		var refused *host.IsolationError
		if c != nil || !errors.As(err, &refused) || refused.Server != "child" || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v, want an IsolationError that says %s", i, err, text)
		}
	}
	_, err := landlock.New(&landlock.Options{Read: []string{"usr"}}).Isolate(t.Context(), entry(config.Isolation{}), command(t))
	assert.Contains(t, fmt.Sprint(err), "Options.Read", "a relative folder in Options")
}

// A start that fails leaves no folder behind.
func TestStartFails(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	mount := filepath.Join(t.TempDir(), "gone")
	assert.OK(t, os.Mkdir(mount, 0o700))
	i := config.Isolation{Mounts: []config.Mount{{Path: mount, Write: true}}}
	c := assert.Value(landlock.New(nil).Isolate(t.Context(), entry(i), command(t)))(t)
	assert.OK(t, os.Remove(mount))
	assert.Contains(t, fmt.Sprint(assert.Err(c.Connect(t.Context()))), mount, "Connect without the mount")
	assert.Equal(t, len(assert.Value(os.ReadDir(temp))(t)), 0)
}

// What the caller has given to clear up is done, too.
func TestEndedIsKept(t *testing.T) {
	recipe := command(t)
	done := false
	recipe.Ended = func() { done = true }
	c := assert.Value(landlock.New(nil).Isolate(t.Context(), entry(config.Isolation{}), recipe))(t)
	assert.True(t, recipe.Start == nil, "the given command was changed")
	assert.OK(t, assert.Value(c.Connect(t.Context()))(t).Close(), "cleared up")
	assert.True(t, done, "cleared up")
}

// hostMode, in the environment, makes the test program a host of this test alone.
const hostMode = "LANDLOCK_TEST_HOST"

// openTerminal returns both sides of a new terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	open := func(path string) *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			t.Skipf("this system has no terminals: %v", err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	master = open("/dev/ptmx")
	assert.OK(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	return master, open("/dev/pts/" + strconv.Itoa(assert.Value(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)))
}

// A server that is started from a terminal has none: it leads a session of its own.
func TestTerminal(t *testing.T) {
	if os.Getenv(hostMode) != "" {
		assert.Value(os.Open("/dev/tty"))(t)
		fmt.Printf("answer: %s\n", start(t, nil, config.Isolation{Network: true}).ask("open", "/dev/tty"))
		return
	}
	_, slave := openTerminal(t)
	self := assert.Value(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestTerminal$")
	cmd.Env = append(os.Environ(), hostMode+"=1")
	cmd.Stdin = slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	out := assert.Value(cmd.CombinedOutput())(t)
	assert.Contains(t, string(out), "answer: failed: open /dev/tty: no such device or address", "opening the terminal")
}

// What Landlock knows nothing of is refused by the filter, with the network on, too.
func TestFilter(t *testing.T) {
	const noKey = -1 << 62
	calls := map[string][]int{
		"ioctl TIOCSTI":   {unix.SYS_IOCTL, 0, unix.TIOCSTI, 0},
		"ioctl TIOCLINUX": {unix.SYS_IOCTL, 0, unix.TIOCLINUX, 0},
		// The kernel takes the lower half of the number only.
		"ioctl TIOCSTI with more bits": {unix.SYS_IOCTL, 0, 1<<32 | unix.TIOCSTI, 0},
		"shmget":                       {unix.SYS_SHMGET, 0, 0, 0},
		"shmat":                        {unix.SYS_SHMAT, -1, 0, 0},
		"shmctl":                       {unix.SYS_SHMCTL, -1, -1, 0},
		"msgget":                       {unix.SYS_MSGGET, 1 << 30, 0, 0},
		"msgsnd":                       {unix.SYS_MSGSND, -1, 0, 0},
		"msgrcv":                       {unix.SYS_MSGRCV, -1, 0, 0},
		"msgctl":                       {unix.SYS_MSGCTL, -1, -1, 0},
		"semget":                       {unix.SYS_SEMGET, 1 << 30, 0, 0},
		"semop":                        {unix.SYS_SEMOP, -1, 0, 0},
		"semtimedop":                   {unix.SYS_SEMTIMEDOP, -1, 0, 0},
		"semctl":                       {unix.SYS_SEMCTL, -1, 0, -1},
		"mq_open":                      {unix.SYS_MQ_OPEN, 0, 0, 0},
		"mq_unlink":                    {unix.SYS_MQ_UNLINK, 0, 0, 0},
		"add_key":                      {unix.SYS_ADD_KEY, 0, 0, 0},
		"request_key":                  {unix.SYS_REQUEST_KEY, 0, 0, 0},
		"keyctl":                       {unix.SYS_KEYCTL, noKey, 0, 0},
	}
	for _, network := range []bool{false, true} {
		c := start(t, nil, config.Isolation{Network: network})
		for name, call := range calls {
			words := []string{"call"}
			for _, n := range call {
				words = append(words, strconv.Itoa(n))
			}
			assert.Equal(t, c.ask(words...), "failed: "+syscall.EPERM.Error(), "%s, network %t", name, network)
		}
		want := "failed: " + syscall.ENOTTY.Error()
		assert.Equal(t, c.ask("call", strconv.Itoa(unix.SYS_IOCTL), "0", strconv.Itoa(unix.TCGETS), "0"), want, "ioctl TCGETS, network %t", network)
	}
}

// Other processes cannot be read by calls either. Landlock sees to that.
func TestOtherMemory(t *testing.T) {
	c := start(t, nil, config.Isolation{Network: true})
	parent := strconv.Itoa(os.Getpid())
	c.mustNot("copy", parent)
	c.mustNot("take", parent)
}
