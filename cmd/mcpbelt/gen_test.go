//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// oddTools are tools whose schemas and names are not what types and names of Go are like.
const oddTools = `[
{"name":"get-user.by id","description":"Line one\n*/ func init() { panic(1) }\n//go:generate rm\n\u001b[31mred","inputSchema":{"type":"object","properties":{
	"1st":{"type":["string","null"]},"func":{"type":"integer"},"a b":{"enum":["x",1]},"A-B":{"type":"boolean"},
	"node":{"$ref":"#/$defs/node"}},"required":["func"],"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"value":{"type":"number"}}}}},
	"outputSchema":{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}},"map":{"type":"object","additionalProperties":{"type":"string"}}}}},
{"name":"get_user_by_id","inputSchema":{"type":"object","properties":{"quote\"":{"type":"string"}}}},
{"name":"call","inputSchema":{"type":"object","anyOf":[{"required":["a"]}]}},
{"name":"New","inputSchema":{"type":"object"}},
{"name":"Client","inputSchema":{"type":"object","properties":{"x":{"type":"object","properties":{"y":{"type":"array"}}}}}}
]`

// useGenerated calls tools by generated packages.
const useGenerated = `package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gen/lab"
	"gen/odd"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/transport"
)

func main() {
	client := mcp.NewClient("lab", &transport.Command{Path: os.Args[1], Env: []string{os.Args[2]}}, nil)
	defer client.Close()
	ctx, c := context.Background(), lab.New(client)
	sum, err := c.Sum(ctx, lab.SumInput{A: 1, B: 2})
	fmt.Println(sum.Sum, err)
	text := "hello"
	said, err := c.Arguments(ctx, lab.ArgumentsInput{Text: &text, Names: []string{"a"}})
	fmt.Println(result.Text(said), err)
	_, err = c.Fail(ctx, lab.FailInput{})
	failed, ok := errors.AsType[*result.ToolFailedError](err)
	fmt.Println(ok, failed.Text)
	_ = odd.New(nil)
}
`

// What gen go writes compiles, vets and calls, whatever the server says.
func TestGeneratedCode(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles")
	}
	w := newWorld(t, `"lab": {SERVER: {"FLAGS": "-features -evil -lossy"}}, "odd": {SERVER: {"FLAGS": "-tools DIR/tools.json"}}`)
	w.write("tools.json", oddTools)
	core := assert.Value(filepath.Abs("../.."))(t)
	mod := assert.Value(os.ReadFile(filepath.Join(core, "go.mod")))(t)
	sum := assert.Value(os.ReadFile(filepath.Join(core, "go.sum")))(t)
	w.write("gen/go.mod", strings.Replace(string(mod), "module github.com/mcpbelt/mcpbelt", "module gen", 1)+
		"\nrequire github.com/mcpbelt/mcpbelt v0.0.0\nreplace github.com/mcpbelt/mcpbelt => "+core+"\n")
	w.write("gen/go.sum", string(sum))
	w.write("gen/main.go", useGenerated)
	for _, name := range []string{"lab", "odd"} {
		w.write("gen/"+name+"/x", "")
		w.run("gen", "go", name, "--out", "gen/"+name+"/"+name+".go")
	}
	for _, args := range [][]string{{"vet", "./..."}, {"run", ".", w.program, serverMode + "=-features"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = filepath.Join(w.dir, "gen")
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		assert.OK(t, err, "go %s: %s", args[0], out)
		if want := "3 <nil>\n{\"names\":[\"a\"],\"text\":\"hello\"} <nil>\ntrue the disk is full\n"; args[0] == "run" && string(out) != want {
			t.Errorf("got %q, want %q", out, want)
		}
	}
}
