package layers

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// patient is the shortest deadline of a test that only guards against a hang. A shorter
// one can be over on a busy machine before what it waits for was given a processor.
const patient = time.Minute

// A clock is a place where real time can decide something.
type clock struct {
	path string // of the file
	name string // of the constant or the function that it stands in
	span string // the duration, or the call if its duration is no constant
}

func (c clock) String() string { return c.path + " " + c.name + " " + c.span }

// timed lists what waits for real time or compares with it, by package and name. The
// number is that of the argument which says how long, -1 if there is none.
var timed = map[string]map[string]int{
	"time":    {"Sleep": 0, "After": 0, "AfterFunc": 0, "NewTimer": 0, "Tick": 0, "NewTicker": 0},
	"context": {"WithTimeout": 1, "WithTimeoutCause": 1, "WithDeadline": 1, "WithDeadlineCause": 1},
}

// deadlines are the methods of connections and files that take a deadline.
var deadlines = []string{"SetDeadline", "SetReadDeadline", "SetWriteDeadline"}

// isKit reports whether only tests import the package.
func isKit(folder string) bool {
	r, ok := roomOf(folder)
	return ok && r.kit
}

// testClocks finds the clocks of tests and their kits that run outside of synctest and
// are shorter than patient.
func testClocks(tr *tree) []clock {
	var found []clock
	for _, p := range tr.sorted() {
		durations, runners := p.durations(), p.runners()
		bubbles := p.bubbles(runners)
		for _, f := range p.files {
			if !f.isTest() && !isKit(p.folder) {
				continue
			}
			f.eachFunction(func(name string, body ast.Node) {
				if bubbles[name] {
					return
				}
				ast.Inspect(body, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					if !ok {
						return true
					}
					if f.runs(call, runners) {
						return false
					}
					if span, ok := f.waits(call, durations); ok {
						found = append(found, clock{f.path, name, span})
					}
					return true
				})
			})
		}
	}
	return found
}

// waits reports whether a call waits for real time that is shorter than patient or is
// no constant.
func (f *file) waits(call *ast.CallExpr, durations map[string]time.Duration) (span string, ok bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	arg := -1
	for pkg, names := range timed {
		if i, has := names[sel.Sel.Name]; has && f.isRef(sel, pkg, sel.Sel.Name) && i < len(call.Args) {
			arg = i
		}
	}
	if arg < 0 && len(call.Args) == 1 && slices.Contains(deadlines, sel.Sel.Name) {
		arg = 0
	}
	if arg < 0 {
		return "", false
	}
	d, ok := f.duration(call.Args[arg], durations)
	if !ok {
		return sel.Sel.Name + "(" + f.text(call.Args[arg]) + ")", true
	}
	return d.String(), d > 0 && d < patient
}

// text returns the source of a node in one line.
func (f *file) text(n ast.Node) string {
	from := int(n.Pos() - f.ast.FileStart)
	return strings.Join(strings.Fields(string(f.src[from:from+int(n.End()-n.Pos())])), " ")
}

// duration evaluates a constant expression of durations, and time.Now().Add of one.
func (f *file) duration(e ast.Expr, known map[string]time.Duration) (time.Duration, bool) {
	units := map[string]time.Duration{"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
		"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.duration(e.X, known)
	case *ast.BasicLit:
		n, err := strconv.ParseInt(strings.ReplaceAll(e.Value, "_", ""), 0, 64)
		return time.Duration(n), err == nil
	case *ast.Ident:
		d, ok := known[e.Name]
		return d, ok
	case *ast.SelectorExpr:
		if d, ok := units[e.Sel.Name]; ok && f.isRef(e, "time", e.Sel.Name) {
			return d, true
		}
	case *ast.CallExpr:
		if add, ok := e.Fun.(*ast.SelectorExpr); ok && add.Sel.Name == "Add" && len(e.Args) == 1 && f.isCall(add.X, "time", "Now") {
			return f.duration(e.Args[0], known)
		}
	case *ast.BinaryExpr:
		x, okX := f.duration(e.X, known)
		y, okY := f.duration(e.Y, known)
		switch {
		case !okX || !okY:
		case e.Op == token.MUL:
			return x * y, true
		case e.Op == token.ADD:
			return x + y, true
		case e.Op == token.SUB:
			return x - y, true
		case e.Op == token.QUO && y != 0:
			return x / y, true
		}
	}
	return 0, false
}

// eachDuration calls fn for each constant and variable of a package that is declared
// with a duration, in functions or outside.
func (p *pkg) eachDuration(fn func(f *file, name string, d time.Duration)) {
	known := map[string]time.Duration{}
	for range 2 { // those of others come later in the files
		for _, f := range p.files {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok || len(spec.Names) != len(spec.Values) {
					return true
				}
				for i, value := range spec.Values {
					if !strings.Contains(f.text(value), "time.") && (spec.Type == nil || f.text(spec.Type) != "time.Duration") {
						continue
					}
					if d, ok := f.duration(value, known); ok {
						if _, seen := known[spec.Names[i].Name]; !seen {
							known[spec.Names[i].Name] = d
							fn(f, spec.Names[i].Name, d)
						}
					}
				}
				return true
			})
		}
	}
}

// durations returns the constants and variables of a package that are durations.
func (p *pkg) durations() map[string]time.Duration {
	known := map[string]time.Duration{}
	p.eachDuration(func(_ *file, name string, d time.Duration) { known[name] = d })
	return known
}

// eachFunction calls fn for each function of a file, methods included.
func (f *file) eachFunction(fn func(name string, body ast.Node)) {
	for _, decl := range f.ast.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Body != nil {
				fn(decl.Name.Name, decl.Body)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) > 0 {
					fn(v.Names[0].Name, v)
				}
			}
		}
	}
}

// runners returns the functions of a package's tests that call synctest.Test with a
// function that they are given.
func (p *pkg) runners() map[string]bool {
	names := map[string]bool{}
	for _, f := range p.files {
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil || !f.isTest() && !isKit(p.folder) || !slices.ContainsFunc(fn.Type.Params.List, isFunction) {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if f.isCall(n, "testing/synctest", "Test") {
					names[fn.Name.Name] = true
				}
				return true
			})
		}
	}
	return names
}

func isFunction(param *ast.Field) bool {
	_, ok := param.Type.(*ast.FuncType)
	return ok
}

// runs reports whether a call has its arguments run in a bubble.
func (f *file) runs(call *ast.CallExpr, runners map[string]bool) bool {
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		return runners[fn.Name]
	case *ast.SelectorExpr:
		return f.isRef(fn, "testing/synctest", "Test") || runners[fn.Sel.Name]
	}
	return false
}

// bubbles returns the functions of a package's tests that are called from within
// synctest alone. Functions of the same name count as one.
func (p *pkg) bubbles(runners map[string]bool) map[string]bool {
	type use struct{ caller string } // "" within synctest
	uses := map[string][]use{}
	for _, f := range p.files {
		if !f.isTest() && !isKit(p.folder) {
			continue
		}
		f.eachFunction(func(caller string, body ast.Node) {
			var visit func(n ast.Node, caller string)
			visit = func(n ast.Node, caller string) {
				ast.Inspect(n, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok && f.runs(call, runners) {
						for _, arg := range call.Args {
							visit(arg, "")
						}
						return false
					}
					if id, ok := n.(*ast.Ident); ok {
						uses[id.Name] = append(uses[id.Name], use{caller})
					}
					return true
				})
			}
			visit(body, caller)
		})
	}
	in := map[string]bool{}
	for name := range uses {
		if !strings.HasPrefix(name, "Test") {
			in[name] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for name := range in {
			for _, u := range uses[name] {
				if u.caller != "" && u.caller != name && !in[u.caller] {
					delete(in, name)
					changed = true
					break
				}
			}
		}
	}
	return in
}

// productClocks finds the durations in production code that are shorter than patient:
// declared with a name, or given to what waits.
func productClocks(tr *tree) []clock {
	var found []clock
	for _, p := range tr.sorted() {
		if isKit(p.folder) || strings.HasPrefix(p.folder, "bench") {
			continue
		}
		p.eachDuration(func(f *file, name string, d time.Duration) {
			if !f.isTest() && d > 0 && d < patient {
				found = append(found, clock{f.path, name, d.String()})
			}
		})
		for _, f := range p.production() {
			f.eachFunction(func(name string, body ast.Node) {
				ast.Inspect(body, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok {
						if span, ok := f.waits(call, nil); ok && !strings.Contains(span, "(") {
							found = append(found, clock{f.path, name, span})
						}
					}
					return true
				})
			})
		}
	}
	return found
}

// TestClocks keeps the list of clocks that tests of make test can run into. Each stands
// below the reason why no verdict depends on the speed of the machine.
func TestClocks(t *testing.T) {
	data := assert.Value(os.ReadFile("testdata/clocks.txt"))(t)
	report(t, checkClocks(string(data), append(testClocks(repository(t)), productClocks(repository(t))...)))
}

// checkClocks compares the clocks that were found with a list of them. A line of the list
// that ends with a colon is the reason for those that follow, each indented.
func checkClocks(list string, found []clock) []string {
	missing := map[string]bool{}
	for _, c := range found {
		missing[c.String()] = true
	}
	var problems []string
	reason := ""
	for line := range strings.Lines(list) {
		entry, isEntry := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		switch {
		case !isEntry:
			reason = strings.TrimSpace(line)
		case reason == "":
			problems = append(problems, "no reason stands above "+entry)
		case !missing[entry]:
			problems = append(problems, "there is no clock any more, or it stands twice: "+entry)
		default:
			delete(missing, entry)
		}
	}
	for _, c := range slices.Sorted(maps.Keys(missing)) {
		problems = append(problems, c+fmt.Sprintf(": less than %v of real time decides something", patient)+
			": use testing/synctest, an option, or an event, or add it to testdata/clocks.txt below its reason")
	}
	return problems
}

func TestClocksAreSeen(t *testing.T) {
	tr := sketch(t, map[string]string{
		"mcp/a.go": `package mcp
import ("context"; "time")
const grace = 5 * time.Second
const day = 24 * time.Hour
func f(ctx context.Context) { context.WithTimeout(ctx, 2*grace); context.WithTimeout(ctx, 3*time.Second) }
`,
		"mcp/a_test.go": `package mcp
import ("testing"; "testing/synctest"; "time"; "net")
const long = 2 * time.Minute
func TestA(t *testing.T) {
	<-time.After(time.Second)
	<-time.After(long)
	outside(time.Second)
	synctest.Test(t, func(t *testing.T) { time.Sleep(1); inside() })
}
func outside(d time.Duration) { time.NewTimer(d) }
func inside() { time.Sleep(2 * time.Second); deeper() }
func deeper() { time.Sleep(3) }
func both() { time.Sleep(time.Millisecond) }
func TestB(t *testing.T) { both(); synctest.Test(t, func(t *testing.T) { both() }) }
func bubble(t *testing.T, f func()) { synctest.Test(t, func(t *testing.T) { f() }) }
func TestD(t *testing.T) { bubble(t, func() { time.Sleep(4) }) }
func TestC(c net.Conn) { c.SetDeadline(time.Now().Add(grace)) }
`,
	})
	var got []string
	for _, c := range append(testClocks(tr), productClocks(tr)...) {
		got = append(got, c.String())
	}
	expect(t, got,
		"mcp/a_test.go TestA 1s", "mcp/a_test.go outside NewTimer(d)", "mcp/a_test.go both 1ms", "mcp/a_test.go TestC 5s",
		"mcp/a.go grace 5s", "mcp/a.go f 3s")
	list := "It is over by itself:\n\tmcp/a.go f 3s\n\tmcp/a.go gone 1s\n"
	expect(t, checkClocks(list, []clock{{"mcp/a.go", "f", "3s"}, {"mcp/a.go", "g", "1s"}}),
		"there is no clock any more, or it stands twice: mcp/a.go gone 1s",
		"mcp/a.go g 1s: less than 1m0s of real time decides something: use testing/synctest, an option, or an event, or add it to testdata/clocks.txt below its reason")
}
