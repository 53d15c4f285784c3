package assert

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A recorder is a test whose failures are noted.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Errorf(format string, a ...any) { r.said = fmt.Sprintf(format, a...) }
func (r *recorder) Fatalf(format string, a ...any) { r.said = "FATAL " + fmt.Sprintf(format, a...) }

func TestChecks(t *testing.T) {
	wrapped := fmt.Errorf("reading: %w", fs.ErrNotExist)
	for want, check := range map[string]func(t testing.TB){
		`FATAL file a: got error: EOF`:                   func(t testing.TB) { OK(t, io.EOF, "file %s", "a") },
		`FATAL got error: EOF`:                           func(t testing.TB) { Value(1, io.EOF)(t) },
		`count: got 1, want 2`:                           func(t testing.TB) { Equal(t, 1, 2, "count") },
		`got "1 ", want ""`:                              func(t testing.TB) { Equal(t, "1 ", "") },
		"got\n\ta\nb\nwant\n\tc":                         func(t testing.TB) { Equal(t, "a\nb", "c") },
		`ended: got false, want true`:                    func(t testing.TB) { True(t, false, "ended") },
		`got true, want false`:                           func(t testing.TB) { False(t, true) },
		`x: got "[]int{1}", want "[]int{}"`:              func(t testing.TB) { List(t, []int{1}, []int{}, "x") },
		`FATAL got 2 elements, want one: [1 2]`:          func(t testing.TB) { Only(t, []int{1, 2}) },
		`x: got "3", want "between 1 and 2"`:             func(t testing.TB) { Between(t, 3, 1, 2, "x") },
		`got "abc", want "d" in it`:                      func(t testing.TB) { Contains(t, "abc", "d") },
		`got "abc", want no "b" in it`:                   func(t testing.TB) { Lacks(t, "abc", "b") },
		`got no error, want one`:                         func(t testing.TB) { Fails(t, nil) },
		`got error reading: file does not exist, want E`: func(t testing.TB) { Is(t, wrapped, errors.New("E")) },
		`FATAL got error EOF of type *errors.errorString, want a *fs.PathError`: func(t testing.TB) { As[*fs.PathError](t, io.EOF) },
		"": func(t testing.TB) {
			OK(t, nil)
			Equal(t, Value(1, nil)(t), Only(t, []int{1}))
			List(t, []int{1}, []int{1})
			Between(t, 2, 1, 2)
			Contains(t, "abc", "b")
			LacksAll(t, "abc", "d", "e")
			ContainsAll(t, "abc", "a", "b")
			Fails(t, io.EOF)
			Is(t, wrapped, fs.ErrNotExist)
			As[*fs.PathError](t, fmt.Errorf("reading: %w", &fs.PathError{Err: io.EOF}))
			True(t, true)
			False(t, false)
		},
	} {
		r := &recorder{}
		check(r)
		if r.said != want {
			t.Errorf("got %q, want %q", r.said, want)
		}
	}
}

func TestCases(t *testing.T) {
	for set, want := range map[string]int{"": 3, "1": 7} {
		t.Setenv("MCPBELT_FULL", set)
		Equal(t, Cases(3, 7), want, "cases with MCPBELT_FULL=%s", strings.TrimSpace(set))
	}
}
