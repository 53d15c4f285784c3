package layers

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestAPI keeps the exported API of every package that users import, as the
// compiler sees it: one line for each identifier. A line that holds for some
// systems only ends with their names. Adapters, whose SDKs take minutes to compile for
// each system, are the same on all: they are looked at on the one at hand.
func TestAPI(t *testing.T) {
	byModule := map[string][]*pkg{}
	modules := allModules(t)
	for _, p := range repository(t).sorted() {
		if p.isPublic() {
			in := moduleOf(modules, p.folder)
			byModule[in] = append(byModule[in], p)
		}
	}
	seen := map[string][]string{} // line to systems
	for folder, pkgs := range byModule {
		if strings.HasPrefix(folder, "adapters/") {
			for _, line := range apiOf(t, folder, pkgs, "") {
				seen[line] = systems()
			}
			continue
		}
		for _, goos := range systems() {
			for _, line := range apiOf(t, folder, pkgs, goos) {
				seen[line] = append(seen[line], goos)
			}
		}
	}
	var lines []string
	for line, on := range seen {
		if len(on) < len(systems()) {
			line += " // " + strings.Join(on, ", ")
		}
		lines = append(lines, line)
	}
	golden(t, "api.golden", "The exported API.", lines)
}

// apiOf returns the API of the packages of one module on one system.
func apiOf(t *testing.T, folder string, pkgs []*pkg, goos string) []string {
	t.Helper()
	args := []string{"-export", "-deps"}
	if goos == "" || goos == runtime.GOOS && runtime.GOARCH == "amd64" {
		args = append(args, "-race") // as the tests were compiled
	}
	for _, p := range pkgs {
		args = append(args, module+"/"+p.folder)
	}
	exports := map[string]string{} // import path to file
	for _, p := range goList(t, folder, goos, args...) {
		exports[p.ImportPath] = p.Export
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	var lines []string
	for _, p := range pkgs {
		compiled, err := imp.Import(module + "/" + p.folder)
		if err != nil {
			t.Fatalf("for %s: %s: %v", goos, p.folder, err)
		}
		lines = append(lines, describePackage(compiled)...)
	}
	return lines
}

// inModule names packages of this module by their folder, others by their path.
func inModule(p *types.Package) string { return strings.TrimPrefix(p.Path(), module+"/") }

// describePackage returns one line for each exported identifier of p.
func describePackage(p *types.Package) []string {
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, inModule(p)+": "+fmt.Sprintf(format, args...))
	}
	scope := p.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Const:
			add("const %s %s = %s", name, types.TypeString(obj.Type(), inModule), obj.Val().ExactString())
		case *types.Var:
			add("var %s %s", name, types.TypeString(obj.Type(), inModule))
		case *types.Func:
			add("func %s%s", name, signature(obj.Type()))
		case *types.TypeName:
			describeType(obj, add)
		}
	}
	return lines
}

// describeType adds the lines of a type: itself, its fields, its methods. Of a
// struct embedded without a name outside its package, the fields count as the
// type's own, as they do for the compiler.
func describeType(obj *types.TypeName, add func(string, ...any)) {
	name := obj.Name()
	if obj.IsAlias() {
		add("type %s%s = %s", name, params(obj.Type().(*types.Alias).TypeParams()),
			types.TypeString(obj.Type().(*types.Alias).Rhs(), inModule))
		return
	}
	named := obj.Type().(*types.Named)
	name += params(named.TypeParams())
	switch u := named.Underlying().(type) {
	case *types.Struct:
		add("type %s struct", name)
		describeFields(name, u, add)
	case *types.Interface:
		add("type %s interface", name)
		describeInterface(name, u, add)
		return
	default:
		add("type %s %s", name, types.TypeString(u, inModule))
	}
	byValue := types.NewMethodSet(named)
	all := types.NewMethodSet(types.NewPointer(named))
	for sel := range all.Methods() {
		method := sel.Obj()
		if !method.Exported() {
			continue
		}
		star := "*"
		if byValue.Lookup(method.Pkg(), method.Name()) != nil {
			star = ""
		}
		add("method (%s%s) %s%s", star, name, method.Name(), signature(sel.Type()))
	}
}

func describeFields(name string, s *types.Struct, add func(string, ...any)) {
	for f := range s.Fields() {
		if f.Exported() {
			how := ""
			if f.Embedded() {
				how = " (embedded)"
			}
			add("type %s struct: %s %s%s", name, f.Name(), types.TypeString(f.Type(), inModule), how)
			continue
		}
		if !f.Embedded() {
			continue
		}
		inner := f.Type()
		if ptr, ok := inner.Underlying().(*types.Pointer); ok {
			inner = ptr.Elem()
		}
		if s, ok := inner.Underlying().(*types.Struct); ok {
			describeFields(name, s, add)
		}
	}
}

func describeInterface(name string, i *types.Interface, add func(string, ...any)) {
	closed := false
	for m := range i.Methods() {
		if m.Exported() {
			add("type %s interface: %s%s", name, m.Name(), signature(m.Type()))
		} else {
			closed = true
		}
	}
	if closed {
		add("type %s interface: cannot be implemented elsewhere", name)
	}
	for e := range i.EmbeddedTypes() {
		if _, union := e.Underlying().(*types.Interface); !union {
			add("type %s interface: %s", name, types.TypeString(e, inModule))
		}
	}
}

func signature(sig types.Type) string {
	return strings.TrimPrefix(types.TypeString(sig, inModule), "func")
}

func params(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var each []string
	for p := range list.TypeParams() {
		each = append(each, p.String()+" "+types.TypeString(p.Constraint(), inModule))
	}
	return "[" + strings.Join(each, ", ") + "]"
}
