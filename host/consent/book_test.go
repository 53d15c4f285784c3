package consent_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func launch(arg string) *consent.Launch {
	return &consent.Launch{Server: "notes", Title: "Notes", Source: "/p/.mcp.json:3", Project: "/p", Transport: "stdio", Path: "/bin/notes", Args: []string{arg}}
}

func open(t testing.TB, path string) *consent.Book {
	t.Helper()
	return assert.Value(consent.Open(path))(t)
}

func wantVerdict(t testing.TB, b *consent.Book, l *consent.Launch, want consent.Verdict) {
	t.Helper()
	got, err := b.Verdict(t.Context(), l)
	assert.Equal(t, got, want, "the verdict")
	assert.OK(t, err, "the verdict")
}

func decide(t testing.TB, b *consent.Book, l *consent.Launch, v consent.Verdict) {
	t.Helper()
	assert.OK(t, b.Decide(t.Context(), "ann", l, v))
}

func TestBook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "consents.json")
	b := open(t, path)
	one, two := launch("s3cret"), launch("two")
	wantVerdict(t, b, one, consent.Pending)
	decide(t, b, one, consent.Approved)
	wantVerdict(t, b, one, consent.Approved)
	wantVerdict(t, b, two, consent.Pending)
	elsewhere := *one
	elsewhere.Project = "/q"
	wantVerdict(t, b, &elsewhere, consent.Pending)
	renamed := *one
	renamed.Server = "other"
	wantVerdict(t, b, &renamed, consent.Pending)
	decide(t, b, one, consent.Rejected)
	again := open(t, path)
	wantVerdict(t, again, one, consent.Rejected)
	records := assert.Value(again.Records(t.Context()))(t)
	assert.Equal(t, len(records), 1, "records")
	r := records[0]
	assert.Equal(t, strings.Join([]string{r.By, r.Fingerprint, r.Project, r.Target, r.Title}, " "), "ann "+one.Fingerprint()+" /p /bin/notes Notes", "recorded")
	assert.False(t, r.At.IsZero(), "no time")
	assert.Lacks(t, string(assert.Value(os.ReadFile(path))(t)), "s3cret", "the file holds arguments")
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	assert.OK(t, b.Forget(t.Context(), one.Fingerprint(), "nothing"))
	wantVerdict(t, again, one, consent.Pending)
}

// Two books of one place see what the other decides.
func TestBooksOfOnePlace(t *testing.T) {
	path, store := filepath.Join(t.TempDir(), "consents.json"), storage.NewMemory()
	for name, openBook := range map[string]func() (*consent.Book, error){
		"file":  func() (*consent.Book, error) { return consent.Open(path) },
		"store": func() (*consent.Book, error) { return consent.Load(t.Context(), store, "consents") },
	} {
		t.Run(name, func(t *testing.T) {
			var books []*consent.Book
			for range 2 {
				books = append(books, assert.Value(openBook())(t))
			}
			for i, verdict := range []consent.Verdict{consent.Approved, consent.Rejected, consent.Approved, consent.Approved} {
				l := launch(fmt.Sprint(i / 2))
				assert.OK(t, books[i%2].Decide(t.Context(), "ann", l, verdict))
				for _, b := range books {
					wantVerdict(t, b, l, verdict)
				}
			}
			assert.Equal(t, len(assert.Value(books[0].Records(t.Context()))(t)), 2)
		})
	}
}

func TestLoadNeedsStore(t *testing.T) {
	_, err := consent.Load(t.Context(), nil, "consents")
	assert.As[*consent.Error](t, err, "no store")
	_, err = consent.Load(t.Context(), storage.NewMemory(), "no name")
	assert.As[*consent.Error](t, err, "no name")
	assert.Is(t, err, storage.ErrName, "no name")
}

func TestDecideRefuses(t *testing.T) {
	b := consent.New()
	for _, c := range []struct {
		by string
		v  consent.Verdict
	}{{"", consent.Approved}, {"\xff", consent.Approved}, {strings.Repeat("a", 257), consent.Approved}, {"ann", consent.Pending}, {"ann", ""}, {"ann", "yes"}} {

		assert.As[*consent.Error](t, b.Decide(t.Context(), c.by, launch(""), c.v))
	}
	wantVerdict(t, b, launch(""), consent.Pending)
}

// A file that is not sound approves nothing, and nobody overwrites it.
func TestUnsoundFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "consents.json")
	b := open(t, path)
	l := launch("")
	decide(t, b, l, consent.Approved)
	sound := assert.Value(os.ReadFile(path))(t)
	text := string(sound)
	for name, bad := range map[string]string{
		"empty":            "",
		"cut":              text[:len(text)/2],
		"nul":              text + "\x00",
		"more":             text + "{}",
		"no object":        "[]",
		"no version":       `{"consents":[]}`,
		"later version":    strings.Replace(text, `"version": 1`, `"version": 2`, 1),
		"unknown key":      strings.Replace(text, `"by"`, `"by": "x", "until"`, 1),
		"twice a key":      strings.Replace(text, `"by"`, `"by": "x", "by"`, 1),
		"unknown verdict":  strings.Replace(text, `"approved"`, `"allowed"`, 1),
		"bad fingerprint":  strings.Replace(text, l.Fingerprint(), "0", 1),
		"nobody":           strings.Replace(text, `"ann"`, `""`, 1),
		"one and another":  strings.Replace(text, `"consents": [`, `"consents": [`+text[strings.Index(text, "[")+1:strings.LastIndex(text, "]")]+",", 1),
		"upper case print": strings.Replace(text, l.Fingerprint(), strings.ToUpper(l.Fingerprint()), 1),
	} {
		assert.OK(t, os.WriteFile(path, []byte(bad), 0o600))

		v, err := b.Verdict(t.Context(), l)
		assert.Equal(t, v, consent.Pending, "%s", name)
		assert.Equal(t, assert.As[*consent.Error](t, err, "%s", name).File, path, "%s", name)
		assert.As[*consent.Error](t, assert.Err(consent.Open(path)), "%s: Open", name)
		assert.As[*consent.Error](t, b.Decide(t.Context(), "ann", l, consent.Approved), "%s: Decide", name)
		assert.Equal(t, string(assert.Value(os.ReadFile(path))(t)), bad, "%s: the file was changed to", name)
	}
	assert.OK(t, os.WriteFile(path, sound, 0o600))
	wantVerdict(t, b, l, consent.Approved)
	assert.OK(t, os.Remove(path))
	wantVerdict(t, b, l, consent.Pending)
}

func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	_, err := consent.Open(filepath.Join(dir, "file", "consents.json"))
	assert.Fails(t, err, "a folder that is a file was opened")
	b := open(t, dir+"/new/consents.json")
	assert.OK(t, os.WriteFile(filepath.Join(dir, "new"), nil, 0o600))

	assert.As[*consent.Error](t, b.Decide(t.Context(), "ann", launch(""), consent.Approved), "Decide")
	var place *fs.PathError
	if v, err := b.Verdict(t.Context(), launch("")); v != consent.Pending || err != nil && !errors.As(err, &place) {
		t.Errorf("%q, %v", v, err)
	}
}

const deciderFile = "CONSENT_TEST_FILE"

// TestDecider is a process of TestProcesses.
func TestDecider(t *testing.T) {
	path := os.Getenv(deciderFile)
	if path == "" {
		t.Skip("it is a part of TestProcesses")
	}
	b := open(t, path)
	for i := range 10 {
		decide(t, b, launch(fmt.Sprint(os.Getenv("CONSENT_TEST_ID"), " ", i)), consent.Approved)
	}
}

// No decision of several processes is lost.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "consents.json")
	self := assert.Value(os.Executable())(t)
	const processes = 4
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestDecider$")
			cmd.Env = append(os.Environ(), deciderFile+"="+path, fmt.Sprint("CONSENT_TEST_ID=", i))
			out, err := cmd.CombinedOutput()
			assert.Is(t, err, nil, "%s", out)
		})
	}
	wg.Wait()
	b := open(t, path)
	for p := range processes {
		for i := range 10 {
			wantVerdict(t, b, launch(fmt.Sprint(p, " ", i)), consent.Approved)
		}
	}
}

// A change right after another of another person, of the same size and time, is seen.
func TestChangeAtTheSameTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "consents.json")
	b, l := open(t, path), launch("")
	decide(t, b, l, consent.Approved)
	data := assert.Value(os.ReadFile(path))(t)
	assert.OK(t, os.WriteFile(path, data, 0o600))
	wantVerdict(t, b, l, consent.Approved)
	info := assert.Value(os.Stat(path))(t)
	assert.OK(t, os.WriteFile(path, []byte(strings.Replace(string(data), "approved", "rejected", 1)), 0o600))
	assert.OK(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	wantVerdict(t, b, l, consent.Rejected)
}
