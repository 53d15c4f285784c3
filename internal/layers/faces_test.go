package layers

import (
	"go/ast"
	"testing"
)

const facesFolder = "internal/faces"

// checkFaces finds connections that stand before others and hide what those tell
// beside messages, so that a client believes there is nothing to tell: what a client
// asks for and internal/faces does not know, and who does without it.
func checkFaces(tr *tree) []string {
	known := map[string]bool{}
	var problems []string
	for _, p := range []*pkg{tr.pkgs[facesFolder], tr.pkgs["mcp"]} {
		for _, f := range p.production() {
			ast.Inspect(f.ast, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.FuncDecl:
					if p.folder == facesFolder && node.Recv != nil {
						known[node.Name.Name] = true
					}
				case *ast.TypeAssertExpr:
					face, ok := node.Type.(*ast.InterfaceType)
					conn, of := node.X.(*ast.SelectorExpr)
					if p.folder != "mcp" || !ok || !of || conn.Sel.Name != "conn" {
						break
					}
					for _, m := range face.Methods.List {
						if len(m.Names) == 1 && !known[m.Names[0].Name] {
							problems = append(problems, tr.at(m.Pos())+"a client asks a connection for "+m.Names[0].Name+", and "+facesFolder+" has no such method")
						}
					}
				}
				return true
			})
		}
	}
	if len(known) == 0 {
		problems = append(problems, facesFolder+" has no methods")
	}
	for _, p := range tr.sorted() {
		if p.folder == facesFolder || p.isMain() {
			continue
		}
		for _, f := range p.production() {
			ast.Inspect(f.ast, func(node ast.Node) bool {
				s, ok := node.(*ast.StructType)
				if !ok {
					return true
				}
				for _, field := range s.Fields.List {
					if len(field.Names) == 0 && (f.isRef(field.Type, module+"/mcp", "Conn") || f.isRef(field.Type, "github.com/modelcontextprotocol/go-sdk/mcp", "Connection")) {
						problems = append(problems, tr.at(field.Pos())+"it hides what the connection tells beside messages: embed Conn of "+facesFolder)
					}
				}
				return true
			})
		}
	}
	return problems
}

func TestFaces(t *testing.T) { report(t, checkFaces(repository(t))) }

func TestHiddenFacesAreSeen(t *testing.T) {
	tr := sketch(t, map[string]string{
		"internal/faces/faces.go": "package faces\nimport sdk \"github.com/modelcontextprotocol/go-sdk/mcp\"\ntype Conn struct{ sdk.Connection }\nfunc (Conn) Err() error { return nil }\n",
		"mcp/tap.go": `package mcp
type Conn interface{}
func (t *tap) f() {
	_, _ = t.conn.(interface{ Err() error })
	_, _ = t.conn.(interface{ Blood() int })
	_, _ = t.other.(interface{ Bones() int })
	_, _ = t.conn.(Caller)
}
`,
		"host/a.go":            "package host\nimport \"" + module + "/mcp\"\ntype a struct{ mcp.Conn }\ntype b struct{ conn mcp.Conn }\ntype c struct{ mcp.Transport }\n",
		"transport/b.go":       "package transport\nimport sdk \"github.com/modelcontextprotocol/go-sdk/mcp\"\ntype a struct{\n\tsdk.Connection\n}\n",
		"transport/b_test.go":  "package transport\nimport \"" + module + "/mcp\"\ntype d struct{ mcp.Conn }\n",
		"examples/x/server.go": "package main\nimport \"github.com/modelcontextprotocol/go-sdk/mcp\"\ntype e struct{ mcp.Connection }\n",
	})
	expect(t, checkFaces(tr),
		"mcp/tap.go:5: a client asks a connection for Blood, and internal/faces has no such method",
		"host/a.go:3: it hides what the connection tells beside messages: embed Conn of internal/faces",
		"transport/b.go:4: it hides what the connection tells beside messages: embed Conn of internal/faces",
	)
	tr = sketch(t, map[string]string{"internal/faces/faces.go": "package faces\n", "mcp/tap.go": "package mcp\n"})
	expect(t, checkFaces(tr), "internal/faces has no methods")
}
