// Package assert has the checks that tests repeat: of an error, of two values, of a list, of
// a text. Value, OK, As and Only end the test, since what follows needs what they check; the
// others report and go on. The last arguments of each say what is checked: a format and its operands.
package assert

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// OK ends the test if err is not nil.
func OK(t testing.TB, err error, what ...any) {
	if err != nil {
		t.Helper() // which costs more than what benchmarks check
		t.Fatalf("%sgot error: %v", label(what), err)
	}
}

// Value returns a function that returns v, and that ends the test if err is not nil. It
// takes the results of a call as they are:
//
//	client := assert.Value(mcp.NewClient(transport, nil))(t)
func Value[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		if err != nil {
			t.Helper()
			OK(t, err)
		}
		return v
	}
}

// Err returns the error of a call, without its other result.
func Err[T any](_ T, err error) error { return err }

// Equal reports an error if got and want differ.
func Equal[T comparable](t testing.TB, got, want T, what ...any) {
	if got == want {
		return
	}
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); strings.Contains(g+w, "\n") || len(g)+len(w) > 160 {
		t.Errorf("%sgot\n\t%s\nwant\n\t%s", label(what), g, w)
		return
	}
	t.Errorf("%sgot %s, want %s", label(what), show(got), show(want))
}

// True reports an error if ok is false.
func True(t testing.TB, ok bool, what ...any) {
	if !ok {
		t.Helper()
		Equal(t, ok, true, what...)
	}
}

// False reports an error if ok is true.
func False(t testing.TB, ok bool, what ...any) {
	if ok {
		t.Helper()
		Equal(t, ok, false, what...)
	}
}

// Contains reports an error if text does not contain part.
func Contains(t testing.TB, text, part string, what ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%sgot %q, want %q in it", label(what), text, part)
	}
}

// Lacks reports an error if text contains part.
func Lacks(t testing.TB, text, part string, what ...any) {
	t.Helper()
	if strings.Contains(text, part) {
		t.Errorf("%sgot %q, want no %q in it", label(what), text, part)
	}
}

// ContainsAll reports an error for each part that text does not contain.
func ContainsAll(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		Contains(t, text, part)
	}
}

// LacksAll reports an error for each part that text contains.
func LacksAll(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		Lacks(t, text, part)
	}
}

// Fails reports an error if err is nil.
func Fails(t testing.TB, err error, what ...any) {
	t.Helper()
	if err == nil {
		t.Errorf("%sgot no error, want one", label(what))
	}
}

// Is reports an error if target is not err or one that err wraps.
func Is(t testing.TB, err, target error, what ...any) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%sgot error %v, want %v", label(what), err, target)
	}
}

// As returns the first error that err is or wraps and that is a T. It ends the test if
// there is none.
func As[T error](t testing.TB, err error, what ...any) T {
	t.Helper()
	var as T
	if !errors.As(err, &as) {
		t.Fatalf("%sgot error %v of type %T, want a %T", label(what), err, err, as)
	}
	return as
}

// List reports an error if two lists differ.
func List[T comparable](t testing.TB, got, want []T, what ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		Equal(t, fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want), what...)
	}
}

// Only returns the one element of a list. It ends the test if there are others, or none.
func Only[T any](t testing.TB, list []T, what ...any) T {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("%sgot %d elements, want one: %v", label(what), len(list), list)
	}
	return list[0]
}

// Between reports an error unless least <= got <= most.
func Between[T cmp.Ordered](t testing.TB, got, least, most T, what ...any) {
	t.Helper()
	if got < least || got > most {
		Equal(t, fmt.Sprint(got), fmt.Sprintf("between %v and %v", least, most), what...)
	}
}

// show returns a value as an error message shows it: a text in quotes.
func show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}

// label formats what is checked, with a colon behind it, unless it is empty.
func label(what []any) string {
	if len(what) == 0 || what[0] == "" {
		return ""
	}
	if format, ok := what[0].(string); ok {
		return fmt.Sprintf(format, what[1:]...) + ": "
	}
	return fmt.Sprint(what...) + ": "
}

// Cases returns few, or full if the environment variable MCPBELT_FULL is set, as make
// check does: the number of cases of a test that makes its cases.
func Cases(few, full int) int {
	if os.Getenv("MCPBELT_FULL") != "" {
		return full
	}
	return few
}
