package layers

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/modulelist"
)

// TestAPI keeps the exported API of every package that users import, as the
// compiler sees it: one line for each identifier. A line that holds for some
// systems only ends with their names. Adapters, whose SDKs are
// large, are the same on all: they are looked at on one.
//
// It looks at the modules of the flag -modules on the systems of -systems.
func TestAPI(t *testing.T) {
	modules, loaded, on := allModules(t), loadedModules(t), loadedSystems(t)
	byModule := map[string][]*pkg{}
	for _, p := range repository(t).sorted() {
		if in := modulelist.Holder(modules, p.folder); p.isPublic() && slices.Contains(loaded, in) {
			byModule[in] = append(byModule[in], p)
		}
	}
	seen := map[string][]string{} // line to systems
	for _, goos := range on {
		c := checkerFor(goos)
		for folder, pkgs := range byModule {
			isAdapter := strings.HasPrefix(folder, "adapters/")
			if isAdapter && goos != on[0] {
				continue
			}
			for _, line := range apiOf(t, c, folder, pkgs) {
				if seen[line] = append(seen[line], goos); isAdapter {
					seen[line] = on
				}
			}
		}
	}
	var lines []string
	for line, holds := range seen {
		lines = append(lines, markSystems(line, holds, on))
	}
	if *update && (len(loaded) < len(modules) || len(on) < len(systems())) {
		t.Fatal("-update writes the API of all modules on all systems: run make api")
	}
	golden(t, "api.golden", "The exported API.", lines, func(line string) (string, bool) {
		line, holds := cutSystems(line)
		folder, _, _ := strings.Cut(line, ": ")
		holds = slices.DeleteFunc(holds, func(goos string) bool { return !slices.Contains(on, goos) })
		return markSystems(line, holds, on), len(holds) > 0 && slices.Contains(loaded, modulelist.Holder(modules, folder))
	})
}

// markSystems ends a line with the systems that it holds for, unless it holds for all
// that were looked at.
func markSystems(line string, holds, lookedAt []string) string {
	if len(holds) < len(lookedAt) {
		line += " // " + strings.Join(holds, ", ")
	}
	return line
}

// cutSystems takes the mark of markSystems off a line, for all systems.
func cutSystems(line string) (rest string, holds []string) {
	if i := strings.LastIndex(line, " // "); i >= 0 {
		marked := strings.Split(line[i+len(" // "):], ", ")
		if !slices.ContainsFunc(marked, func(m string) bool { return !slices.Contains(systems(), m) }) {
			return line[:i], marked
		}
	}
	return line, systems()
}

func TestMarkSystems(t *testing.T) {
	for _, c := range []struct {
		line string
		on   []string
		want string
	}{
		{"mcp: func F()", []string{"linux"}, "mcp: func F()"},
		{"mcp: func F() // linux, windows", []string{"linux"}, "mcp: func F()"},
		{"mcp: func F() // linux", []string{"linux", "windows"}, "mcp: func F() // linux"},
		{"mcp: const C = \"a // linux\"", []string{"linux"}, "mcp: const C = \"a // linux\""},
	} {
		line, holds := cutSystems(c.line)
		holds = slices.DeleteFunc(holds, func(goos string) bool { return !slices.Contains(c.on, goos) })
		assert.Equal(t, markSystems(line, holds, c.on), c.want, "%q on %v", c.line, c.on)
	}
}

// apiOf returns the API of the packages of one module.
func apiOf(t *testing.T, c *checker, folder string, pkgs []*pkg) []string {
	t.Helper()
	var lines []string
	checked := c.load(t, folder, pkgs)
	for _, p := range pkgs {
		lines = append(lines, describePackage(checked[module+"/"+p.folder])...)
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

func signature(typ types.Type) string {
	sig := typ.(*types.Signature)
	if sig.Results().Len() == 0 || !strings.HasPrefix(sig.Results().At(0).Name(), "#") {
		return strings.TrimPrefix(types.TypeString(sig, inModule), "func")
	}
	// The compiler writes down names for results that have none.
	var results []*types.Var
	for v := range sig.Results().Variables() {
		results = append(results, types.NewVar(v.Pos(), v.Pkg(), "", v.Type()))
	}
	plain := types.NewSignatureType(nil, nil, nil, sig.Params(), types.NewTuple(results...), sig.Variadic())
	return params(sig.TypeParams()) + strings.TrimPrefix(types.TypeString(plain, inModule), "func")
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
