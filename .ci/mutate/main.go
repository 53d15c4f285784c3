// Mutate changes the product in small ways, one at a time, and prints which changes the
// tests of the changed package notice. Which changes it makes depends on their functions
// alone, so that two checkouts with the same functions are changed alike:
//
//	go run ./.ci/mutate -each 7 mcp transport registry session host host/gateway
//	go run ./.ci/mutate -tree /tmp/then -each 7 mcp transport ...
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var (
	tree = flag.String("tree", ".", "the `folder` of the checkout")
	each = flag.Int("each", 7, "`number` of changes of each package")
)

// A mutation replaces bytes of a file.
type mutation struct {
	file     string
	from, to int
	text     string
	name     string // function, kind and number in the function
	order    uint64 // a hash of the name
}

func main() {
	log.SetFlags(0)
	flag.Parse()
	caught, all := 0, 0
	for _, folder := range flag.Args() {
		left := *each
		for _, m := range mutations(folder) {
			if left == 0 {
				break
			}
			start := time.Now()
			verdict, ok := try(folder, m)
			if !ok {
				continue // it does not compile
			}
			left--
			all++
			if verdict {
				caught++
			}
			fmt.Printf("%-8s %s %s: %q (%.0f s)\n", map[bool]string{true: "caught", false: "SURVIVED"}[verdict], m.file, m.name, m.text, time.Since(start).Seconds())
		}
	}
	fmt.Printf("%d of %d caught\n", caught, all)
}

// mutations returns the possible changes of a package in an order that looks random.
func mutations(folder string) []mutation {
	files, err := filepath.Glob(filepath.Join(*tree, folder, "*.go"))
	if err != nil {
		log.Fatal(err)
	}
	var found []mutation
	for _, path := range files {
		if base := filepath.Base(path); strings.HasSuffix(base, "_test.go") || strings.Contains(base, "windows") || strings.Contains(base, "other") || strings.Contains(base, "notunix") {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, src, 0)
		if err != nil {
			log.Fatal(err)
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil || fn.Name.Name == "String" || fn.Name.Name == "Error" {
				continue
			}
			number := 0
			add := func(from, to token.Pos, kind, text string) {
				number++
				name := fmt.Sprintf("%s %s %d", fn.Name.Name, kind, number)
				hash := sha256.Sum256([]byte(folder + name))
				found = append(found, mutation{path, fset.Position(from).Offset, fset.Position(to).Offset, text, name, binary.BigEndian.Uint64(hash[:])})
			}
			text := func(n ast.Node) string {
				return string(src[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.IfStmt:
					add(n.Cond.Pos(), n.Cond.End(), "negate", "!("+text(n.Cond)+")")
				case *ast.BinaryExpr:
					other := map[token.Token]string{token.LAND: "||", token.LOR: "&&", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.ADD: "-"}[n.Op]
					if other != "" {
						add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), "operator", other)
					}
				case *ast.ExprStmt:
					if call, ok := n.X.(*ast.CallExpr); ok && !strings.Contains(text(call.Fun), "Lock") {
						add(n.Pos(), n.End(), "drop", "{}")
					}
				}
				return true
			})
		}
	}
	slices.SortFunc(found, func(a, b mutation) int { return cmp.Compare(a.order, b.order) })
	return found
}

// try runs the tests of a package with a change. ok is false if it does not compile.
func try(folder string, m mutation) (caught, ok bool) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	src, err := os.ReadFile(m.file)
	if err != nil {
		log.Fatal(err)
	}
	changed := filepath.Join(dir, filepath.Base(m.file))
	file, err := filepath.Abs(m.file)
	if err != nil {
		log.Fatal(err)
	}
	overlay, _ := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	list := filepath.Join(dir, "overlay.json")
	test := filepath.Join(dir, "test.bin")
	for name, data := range map[string][]byte{
		changed: slices.Concat(src[:m.from], []byte(m.text), src[m.to:]),
		list:    overlay,
	} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			log.Fatal(err)
		}
	}
	build := exec.Command("go", "test", "-c", "-o", test, "-overlay", list, "./"+folder)
	build.Dir = *tree
	if out, err := build.CombinedOutput(); err != nil {
		if !bytes.Contains(out, []byte(".go:")) {
			log.Fatalf("go test -c ./%s: %v\n%s", folder, err, out)
		}
		return false, false
	}
	run := exec.Command(test, "-test.failfast", "-test.timeout=5m")
	run.Dir = filepath.Join(*tree, folder)
	run.Env = append(os.Environ(), "FAULT_SEEDS=0")
	return run.Run() != nil, true
}
