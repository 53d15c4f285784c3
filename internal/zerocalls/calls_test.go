package zerocalls

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A function is an exported function and what it is called.
type function struct {
	name string
	fn   any
}

// A call is one call of a function or method.
type call struct {
	name string
	// lenient: it may dereference nil, which its receiver or its context is, or what an
	// interface holds.
	lenient bool
	// fn returns what is called, and its receiver, which is made for this call. Without
	// either there is nothing to call.
	fn   func(ctx context.Context) (fn, receiver reflect.Value)
	args []arg
}

// An arg makes an argument.
type arg struct {
	label string
	make  func(ctx context.Context) reflect.Value
}

// speaks are the types whose zero values say in words that they are not usable, or work.
// Those of the others may dereference nil, as in the standard library.
var speaks = map[string]bool{
	"activity.Log": true, "activity.Memory": true, "consent.Book": true,
	"host.Host": true, "login.Logins": true, "mcp.Client": true, "profile.Set": true,
	"ledger.Ledger": true, "registry.Registry": true, "toolset.Finder": true, "session.Manager": true, "seal.Store": true,
	"transport.Command": true, "transport.HTTP": true, "transport.Pipe": true,
}

var contextType = reflect.TypeFor[context.Context]()

// calls returns all calls, always in the same order.
func calls() []call {
	var all []call
	add := func(name string, nilReceiver, lenient bool, t reflect.Type, skip int, fn func(context.Context) (fn, receiver reflect.Value)) {
		for _, args := range variants(t, skip, nilReceiver) {
			list := labels(args)
			isNil := strings.Contains(list, "nil context") || strings.Contains(list, "(*")
			all = append(all, call{name + "(" + list + ")", lenient || isNil, fn, args})
		}
	}
	for _, f := range functions {
		v := reflect.ValueOf(f.fn)
		add(f.name, false, false, v.Type(), 0, func(context.Context) (fn, receiver reflect.Value) { return v, reflect.Value{} })
	}
	for _, typed := range types {
		t := reflect.TypeOf(typed)
		for m := range t.NumMethod() {
			method := t.Method(m)
			if method.Name == "Format" {
				continue // package fmt calls it, with a State
			}
			on := func(receiver func(context.Context) reflect.Value) func(context.Context) (reflect.Value, reflect.Value) {
				return func(ctx context.Context) (reflect.Value, reflect.Value) {
					r := receiver(ctx)
					if !r.IsValid() {
						return r, r
					}
					return r.Method(m), r
				}
			}
			name := strings.TrimPrefix(t.String(), "*") + "." + method.Name
			add(name+" of nil", true, true, method.Type, 1, func(context.Context) (fn, receiver reflect.Value) {
				// The method of a nil pointer is looked up when it is called.
				fn = reflect.MakeFunc(methodType(method.Type), func(in []reflect.Value) []reflect.Value {
					in = append([]reflect.Value{reflect.Zero(t)}, in...)
					if method.Type.IsVariadic() {
						return method.Func.CallSlice(in)
					}
					return method.Func.Call(in)
				})
				return fn, receiver
			})
			add(name+" of zero", false, !speaks[strings.TrimPrefix(t.String(), "*")], method.Type, 1, on(func(context.Context) reflect.Value { return reflect.New(t.Elem()) }))
			for _, f := range functions {
				v := reflect.ValueOf(f.fn)
				if v.Type().NumOut() == 0 || v.Type().Out(0) != t {
					continue
				}
				for _, args := range variants(v.Type(), 0, false) {
					if strings.Contains(labels(args), "nil") {
						continue
					}
					add(name+" of "+f.name+"("+labels(args)+")", false, false, method.Type, 1, on(func(ctx context.Context) reflect.Value {
						return made(ctx, v, args)
					}))
				}
			}
		}
	}
	return all
}

// labels returns what a list of arguments is called.
func labels(args []arg) string {
	var all []string
	for _, a := range args {
		all = append(all, a.label)
	}
	return strings.Join(all, ", ")
}

// methodType returns the type of a method without its receiver.
func methodType(t reflect.Type) reflect.Type {
	var in, out []reflect.Type
	for i := 1; i < t.NumIn(); i++ {
		in = append(in, t.In(i))
	}
	for i := range t.NumOut() {
		out = append(out, t.Out(i))
	}
	return reflect.FuncOf(in, out, t.IsVariadic())
}

// made returns what a constructor makes of args, or no value if it refuses them.
func made(ctx context.Context, constructor reflect.Value, args []arg) (v reflect.Value) {
	defer func() { _ = recover() }() // which is looked at where the constructor is called
	out := invoke(ctx, constructor, args)
	if out[0].IsNil() {
		return v
	}
	return out[0]
}

// variants returns lists of arguments: all zero; each of them something else that is
// likely to be wrong; all of them the first, and the last, of that; and a nil context. If
// few, only zero and the nil context.
func variants(t reflect.Type, skip int, few bool) [][]arg {
	var base, nilContext []arg
	hasContext := false
	for i := skip; i < t.NumIn(); i++ {
		in := t.In(i)
		a := arg{"0", func(context.Context) reflect.Value { return reflect.Zero(in) }}
		base = append(base, a)
		nilContext = append(nilContext, a)
		if in == contextType {
			nilContext[i-skip].label = "nil context"
			base[i-skip] = arg{"ctx", func(ctx context.Context) reflect.Value { return reflect.ValueOf(ctx) }}
			hasContext = true
		}
	}
	all := [][]arg{base}
	if !few {
		first, last, filled := slices.Clone(base), slices.Clone(base), 0
		for i := range base {
			list := others(t.In(i + skip))
			for _, other := range list {
				one := slices.Clone(base)
				one[i] = other
				all = append(all, one)
			}
			if len(list) > 0 {
				first[i], last[i] = list[0], list[len(list)-1]
				filled++
			}
		}
		if filled > 1 {
			all = append(all, first, last)
		}
	}
	if hasContext {
		all = append(all, nilContext)
	}
	return all
}

// others returns arguments of a type that are not its zero value, and no better.
func others(t reflect.Type) []arg {
	value := func(label string, v func() reflect.Value) arg {
		return arg{label, func(context.Context) reflect.Value { return v().Convert(t) }}
	}
	switch t.Kind() {
	case reflect.Pointer:
		list := []arg{value("&0", func() reflect.Value { return reflect.New(t.Elem()) })}
		if functionsIn(t.Elem()) {
			for _, how := range []string{"return 0", "panic"} {
				list = append(list, value("&{all "+how+"}", func() reflect.Value {
					v := reflect.New(t.Elem())
					fill(v.Elem(), how)
					return v
				}))
			}
		}
		for _, f := range functions {
			v := reflect.ValueOf(f.fn)
			if v.Type().NumOut() == 1 && v.Type().Out(0) == t {
				list = append(list, arg{f.name, func(ctx context.Context) reflect.Value {
					if v := made(ctx, v, variants(v.Type(), 0, true)[0]); v.IsValid() {
						return v
					}
					return reflect.Zero(t)
				}})
			}
		}
		return list
	case reflect.Slice:
		list := []arg{value("{0}", func() reflect.Value { return reflect.MakeSlice(t, 1, 1) })}
		for _, element := range others(t.Elem()) {
			list = append(list, arg{"{" + element.label + "}", func(ctx context.Context) reflect.Value {
				s := reflect.MakeSlice(t, 1, 1)
				s.Index(0).Set(element.make(ctx))
				return s
			}})
		}
		return list
	case reflect.Map:
		return []arg{value("{}", func() reflect.Value { return reflect.MakeMap(t) })}
	case reflect.String:
		return []arg{value("x", func() reflect.Value { return reflect.ValueOf("x") })}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return []arg{value("-1", func() reflect.Value { return reflect.ValueOf(-1) })}
	case reflect.Func:
		return []arg{
			value("returns 0", func() reflect.Value {
				return reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value { return zeros(t) })
			}),
			value("panics", func() reflect.Value {
				return reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value { panic(errCallback) })
			}),
		}
	case reflect.Interface:
		if t == contextType {
			return nil
		}
		var list []arg
		for _, typed := range types {
			p := reflect.TypeOf(typed)
			if t.NumMethod() > 0 && p.Implements(t) {
				list = append(list,
					value("&"+p.Elem().String(), func() reflect.Value { return reflect.New(p.Elem()) }),
					value("(*"+p.Elem().String()+")(nil)", func() reflect.Value { return reflect.Zero(p) }))
			}
		}
		const most = 20 // half of them
		return list[:min(len(list), most)]
	}
	return nil
}

// functionsIn reports whether a struct has exported fields that are functions.
func functionsIn(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && (f.Type.Kind() == reflect.Func || functionsIn(f.Type)) {
			return true
		}
	}
	return false
}

// fill sets the exported fields of a struct that are functions, also in structs in it.
func fill(v reflect.Value, how string) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case !v.Type().Field(i).IsExported():
		case f.Kind() == reflect.Struct:
			fill(f, how)
		case f.Kind() == reflect.Func:
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value {
				if how == "panic" {
					panic(errCallback)
				}
				return zeros(f.Type())
			}))
		}
	}
}

var errCallback = errors.New("the callback panics")

func zeros(t reflect.Type) (out []reflect.Value) {
	for i := range t.NumOut() {
		out = append(out, reflect.Zero(t.Out(i)))
	}
	return out
}

// invoke calls fn.
func invoke(ctx context.Context, fn reflect.Value, args []arg) []reflect.Value {
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = a.make(ctx)
	}
	if fn.Type().IsVariadic() {
		return fn.CallSlice(in)
	}
	return fn.Call(in)
}

// patience bounds what waits for its context.
const patience = 20 * time.Millisecond

// run makes the call, looks at what it returns, and returns what is wrong with how it
// panicked, if it did.
func (c call) run() (wrong error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			wrong = c.judge(v)
		}
	}()
	fn, receiver := c.fn(ctx)
	if !fn.IsValid() {
		return nil
	}
	if receiver.IsValid() {
		defer use(receiver)
	}
	for _, out := range invoke(ctx, fn, c.args) {
		use(out)
	}
	return nil
}

// use does with a result what every caller does: it prints errors, ranges over
// sequences and closes what can be closed.
func use(out reflect.Value) {
	if out.Kind() == reflect.Func && !out.IsNil() && (out.Type().CanSeq() || out.Type().CanSeq2()) {
		left := 3
		yield := reflect.MakeFunc(out.Type().In(0), func([]reflect.Value) []reflect.Value {
			left--
			return []reflect.Value{reflect.ValueOf(left > 0)}
		})
		out.Call([]reflect.Value{yield})
	}
	if !out.CanInterface() || (out.Kind() == reflect.Pointer || out.Kind() == reflect.Interface) && out.IsNil() {
		return
	}
	switch v := out.Interface().(type) {
	case error:
		_ = v.Error()
	case io.Closer:
		_ = v.Close()
	}
}

// sentence is what a panic of ours says: the package and what is wrong.
var sentence = regexp.MustCompile(`^[a-z0-9]+: .* `)

// judge returns what is wrong with a panic.
func (c call) judge(v any) error {
	var bug runtime.Error
	err, isError := v.(error)
	switch {
	case isError && errors.Is(err, errCallback):
		return nil
	case isError && errors.As(err, &bug):
		text := bug.Error()
		nilled := strings.Contains(text, "nil pointer dereference") || strings.Contains(text, "entry in nil map") || strings.HasPrefix(text, "value method ")
		if nilled && c.lenient {
			return nil
		}
	case sentence.MatchString(fmt.Sprint(v)):
		return nil
	case v == "cannot create context from nil parent" && c.lenient: // as the standard library says it
		return nil
	}
	stack := make([]byte, 8<<10)
	return fmt.Errorf("it panics: %v\n%s", v, origin(string(stack[:runtime.Stack(stack, false)])))
}

// origin returns the lines of a stack that are about this module's code.
func origin(stack string) string {
	var lines []string
	for line := range strings.Lines(stack) {
		if strings.HasPrefix(line, "\t") && !strings.Contains(line, "/zerocalls/") && !strings.Contains(line, "/src/r") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines[:min(len(lines), 4)], "\n")
}

// childEnv makes this test binary make the calls of a range, such as 0-100.
const childEnv = "MCPBELT_ZEROCALLS"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		var from, to int
		if _, err := fmt.Sscanf(what, "%d-%d", &from, &to); err != nil {
			panic(err)
		}
		child(from, to)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const (
	children = 2
	// least is how many calls there are at least.
	least = 500
	// hangs is how long a call may take that has a context of 20 ms.
	hangs = time.Minute
	// mostCrashes bounds how often a child is started again behind what ended it.
	mostCrashes = 20
)

// TestZeroCalls makes all calls, in a few processes of their own.
func TestZeroCalls(t *testing.T) {
	all := calls()
	assert.False(t, len(all) < least, "got %d calls, want at least %d", len(all), least)
	t.Logf("%d calls", len(all))
	var wg sync.WaitGroup
	for i := range children {
		wg.Go(func() {
			to := (i + 1) * len(all) / children
			for from, crashes := i*len(all)/children, 0; from < to; crashes++ {
				if crashes == mostCrashes {
					t.Errorf("%d calls have ended their process: those from %s on are not made", crashes, all[from].name)
					return
				}
				from = oversee(t, all, from, to) + 1
			}
		})
	}
	wg.Wait()
}

// oversee runs a child, reports what it says, and returns the number of the last call
// that it has begun, or a greater one if it has made all of them.
func oversee(t *testing.T, all []call, from, to int) int {
	self, err := os.Executable()
	if err != nil {
		t.Error(err)
		return to
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Dir = dir
	// No program is found, and nothing is written that is the user's.
	cmd.Env = []string{fmt.Sprintf("%s=%d-%d", childEnv, from, to), "PATH=", "SystemRoot=" + os.Getenv("SystemRoot"), "GORACE=atexit_sleep_ms=0"}
	for _, name := range []string{"HOME", "USERPROFILE", "AppData", "LocalAppData", "TMPDIR", "TMP", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"} {
		cmd.Env = append(cmd.Env, name+"="+dir)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	last := from
	for line := range strings.Lines(string(out)) {
		var number int
		if _, err := fmt.Sscanf(line, "begin %d", &number); err == nil {
			last = number
			continue
		}
		t.Errorf("%s: %s", all[last].name, strings.ReplaceAll(strings.TrimSpace(line), `\n`, "\n\t"))
	}
	if err != nil {
		t.Errorf("%s: it or one before it ends the process: %v\n%.3000s", all[last].name, err, &stderr)
		return last
	}
	return to
}

// child makes calls, and tells of them on its standard output.
func child(from, to int) {
	out := bufio.NewWriter(os.Stdout)
	os.Stdout = nil // which is no place for a library to write to
	for i, c := range calls()[from:to] {
		fmt.Fprintf(out, "begin %d\n", from+i)
		_ = out.Flush()
		done := make(chan error, 1)
		go func() { done <- c.run() }()
		timer := time.NewTimer(hangs)
		select {
		case wrong := <-done:
			if wrong != nil {
				fmt.Fprintln(out, strings.ReplaceAll(wrong.Error(), "\n", `\n`))
			}
		case <-timer.C:
			stacks := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "it hangs\n%s\n", stacks[:runtime.Stack(stacks, true)])
			_ = out.Flush()
			os.Exit(1)
		}
		timer.Stop()
	}
	_ = out.Flush()
}
