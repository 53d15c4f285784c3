package develop

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stubs returns what the generated packages import, as little of it as they use.
func stubs() map[string]string {
	return map[string]string{
		"context":                        "package context; type Context interface{}",
		"encoding/json":                  "package json; type RawMessage []byte; func Marshal(v any) ([]byte, error) { return nil, nil }",
		"github.com/mcpbelt/mcpbelt/mcp": "package mcp; type RequestOptions struct{}; type CallToolResult struct{ IsError bool }",
		"github.com/mcpbelt/mcpbelt/registry/result": `package result; import "github.com/mcpbelt/mcpbelt/mcp"
			type ToolFailedError struct{ Text string }
			func (e *ToolFailedError) Error() string { return e.Text }
			func Text(res *mcp.CallToolResult) string { return "" }
			func Decode[T any](res *mcp.CallToolResult) (t T, err error) { return t, nil }`,
	}
}

// A checker type-checks generated code against stubs.
type checker map[string]*types.Package

func (c checker) Import(path string) (*types.Package, error) {
	if c[path] == nil {
		source, ok := stubs()[path]
		if !ok {
			return nil, errors.New("it is not to be imported")
		}
		pkg, err := c.check(path, source)
		if err != nil {
			return nil, err
		}
		c[path] = pkg
	}
	return c[path], nil
}

func (c checker) check(path, source string) (*types.Package, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	config := types.Config{Importer: c}
	return config.Check(path, files, []*ast.File{file}, nil)
}

// A described tool has a definition and no more.
type described registry.Definition

func (d *described) Definition() *registry.Definition { return (*registry.Definition)(d) }

func (d *described) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return nil, errors.New("it cannot be called")
}

func tool(name, description, in, out string) registry.Tool {
	d := &described{Description: description, InputSchema: json.RawMessage(in), OutputSchema: json.RawMessage(out)}
	d.Origin.Tool = name
	return d
}

// generated returns the code for tools, which must compile.
func generated(t *testing.T, c checker, server string, tools []registry.Tool) string {
	t.Helper()
	code, err := generate("sample", server, tools)
	assert.OK(t, err, "%s", server)
	if dir := os.Getenv("GENERATED"); dir != "" {
		assert.OK(t, errors.Join(os.MkdirAll(filepath.Join(dir, server), 0o755), os.WriteFile(filepath.Join(dir, server, "x.go"), code, 0o644)))
	}
	assert.OK(t, assert.Err(c.check(server, string(code))), "%s", server)
	return string(code)
}

// The code for each server of the corpora compiles, with a method for each tool.
func TestGenerateCorpora(t *testing.T) {
	c := checker{}
	for _, s := range toolcorpus.Servers() {
		var tools []registry.Tool
		for _, one := range s.Tools {
			tools = append(tools, tool(one.Name, one.Description, string(one.InputSchema), string(one.OutputSchema)))
		}
		assert.Equal(t, strings.Count(generated(t, c, s.Name, tools), "\nfunc (c *Client) "), len(tools)+1, "%s: methods", s.Name)
	}
	paths := assert.Value(filepath.Glob("../../../../registry/testdata/*/*.json"))(t)
	assert.True(t, len(paths) >= 20, "there are corpora")
	for _, path := range paths {
		var file struct {
			Cases []struct {
				Tools []struct {
					Name, Description         string
					InputSchema, OutputSchema json.RawMessage
				}
			}
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &file)
		}
		assert.OK(t, err)
		var tools []registry.Tool
		for _, one := range file.Cases {
			for _, d := range one.Tools {
				tools = append(tools, tool(d.Name, d.Description, string(d.InputSchema), string(d.OutputSchema)))
			}
		}
		generated(t, c, strings.TrimSuffix(filepath.Base(path), ".json"), tools)
	}
}

// Schemas become types.
func TestGenerateTypes(t *testing.T) {
	c := checker{}
	for name, test := range map[string]struct{ in, out, want string }{
		"optional": {in: `{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},"l":{"type":"array","items":{"type":"string"}},"o":{"type":"object","properties":{"x":{"type":"string"}}},"any":true}}`,
			want: "Any any `json:\"any,omitzero\"` B *bool `json:\"b,omitzero\"` I *int64 `json:\"i,omitzero\"` L []string `json:\"l,omitzero\"` N *float64 `json:\"n,omitzero\"` O *TInputO `json:\"o,omitzero\"` S *string `json:\"s,omitzero\"` }"},
		"required": {out: `{"type":"object","required":["s","l","o"],"properties":{"s":{"type":"string"},"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}}}},"o":{"type":"object","additionalProperties":{"type":"boolean"}}}}`,
			want: "type TOutput struct { L []TOutputLItem `json:\"l\"` O map[string]bool `json:\"o\"` S string `json:\"s\"` }"},
		"nil lists": {in: `{"type":"object","required":["l","n"],"properties":{"l":{"type":"array","items":{"type":"string"}},"n":{"type":["array","null"]}}}`,
			want: "type fields TInput if v.L == nil { v.L = []string{} } return json.Marshal(fields(v))"},
		"field MarshalJSON": {in: `{"type":"object","required":["marshal_json"],"properties":{"marshal_json":{"type":"array"}}}`,
			want: "MarshalJSON2 []any"},
		"null": {out: `{"type":"object","required":["a","b","c","d"],"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}]},"c":{"type":"boolean","nullable":true},"d":{"enum":["x",null]}}}`,
			want: "A *string `json:\"a\"` B *int64 `json:\"b\"` C *bool `json:\"c\"` // One of: \"x\", null. D *string `json:\"d\"` }"},
		"recursive": {in: `{"type":"object","properties":{"node":{"$ref":"#/$defs/tree-node"},"other":{"$ref":"#/$defs/tree-node"}},"required":["node"],"$defs":{"tree-node":{"type":"object","required":["next","all"],"properties":{"next":{"$ref":"#/$defs/tree-node"},"all":{"type":"array","items":{"$ref":"#/$defs/tree-node"}}}}}}`,
			want: "type TTreeNode struct { All []TTreeNode `json:\"all\"` Next *TTreeNode `json:\"next\"` }"},
		"root reference": {out: `{"$ref":"#/$defs/answer","$defs":{"answer":{"type":"object","properties":{"up":{"$ref":"#"}}}}}`,
			want: "// TOutput is the result of [Client.T]. type TOutput struct {"},
		"whole again": {in: `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`,
			want: "Children []TInput `json:\"children,omitzero\"`"},
		"mutual": {out: `{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"object","required":["b"],"properties":{"b":{"$ref":"#/$defs/b"}}},"b":{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/a"}}}}}`,
			want: "A *TA `json:\"a\"`"},
		"list of itself": {in: `{"type":"object","properties":{"l":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}`,
			want: "L []any"},
		"reference into anyOf": {in: `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"object"}]},"b":{"$ref":"#/properties/a/anyOf/0"}}}`,
			want: "B *string"},
		"references to nothing": {in: `{"type":"object","properties":{"a":{"$ref":"#/no"},"b":{"$ref":"https://example.com"},"c":{"$ref":"#/properties/a/9"},"d":{"$ref":"#name"}}}`,
			want: "A any `json:\"a,omitzero\"` B any `json:\"b,omitzero\"` C any `json:\"c,omitzero\"` D any `json:\"d,omitzero\"` }"},
		"unions": {in: `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"number"}]},"b":{"anyOf":[{"const":"x"},{"type":"string"}]},"c":{"allOf":[{"$ref":"#/$defs/c"}]},"d":{"type":["string","boolean"]},"e":{"anyOf":[{"type":"object","properties":{"x":true}},{"type":"object","properties":{"y":true}}]}},"$defs":{"c":{"type":"object","properties":{"z":true}}}}`,
			want: "A any `json:\"a,omitzero\"` B *string `json:\"b,omitzero\"` C *TC `json:\"c,omitzero\"` D any `json:\"d,omitzero\"` E any `json:\"e,omitzero\"` }"},
		"docs": {in: `{"type":"object","properties":{"a":{"type":"integer","description":"How many","enum":[1,12345678901234567890],"default":1},"b":{"$ref":"#/$defs/b"},"c":{"type":"array","items":{"enum":["x"]}}},"$defs":{"b":{"type":"string","description":"Which <one>.","default":"<x>"}},"required":["c"]}`,
			want: "// How many. // One of: 1, 12345678901234567890. Default: 1. A *int64 `json:\"a,omitzero\"` // Which <one>. // Default: \"<x>\". B *string `json:\"b,omitzero\"` // Any of: \"x\". C []string `json:\"c\"` }"},
		"tuple": {in: `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"string"}},"b":{"type":"array","items":[{"type":"string"}]}}}`,
			want: "A []any `json:\"a,omitzero\"` B []any `json:\"b,omitzero\"` }"},
		"names": {in: `{"type":"object","required":["-"],"properties":{"-":{"type":"string"},"userId":true,"user_id":true,"UserID":true,"a b":true,"日本":true,"été":true,"1st":true,"func":true,"$meta":true,"base_url":true}}`,
			want: "Meta any `json:\"$meta,omitzero\"` X string `json:\"-,\"` X1st any `json:\"1st,omitzero\"` UserID any `json:\"UserID,omitzero\"` AB any `json:\"a b,omitzero\"` BaseURL any `json:\"base_url,omitzero\"` Func any `json:\"func,omitzero\"` UserID2 any `json:\"userId,omitzero\"` UserID3 any `json:\"user_id,omitzero\"` Été any `json:\"été,omitzero\"` X日本 any `json:\"日本,omitzero\"` }"},
		"names that tags cannot say": {in: `{"type":"object","properties":{"a,b":true}}`,
			want: "T(ctx context.Context, in any) (*mcp.CallToolResult, error)"},
		"no arguments":         {in: `{"type":"object","properties":{},"required":[],"additionalProperties":false}`, want: "T(ctx context.Context) (*mcp.CallToolResult, error) { return c.call(ctx, \"t\", struct{}{}) }"},
		"all arguments":        {in: `{"type":"object","additionalProperties":true}`, want: "T(ctx context.Context, in map[string]any)"},
		"arguments of allOf":   {in: `{"type":"object","allOf":[{"required":["a"]},{"required":["b"]}]}`, want: "T(ctx context.Context, in any)"},
		"a list as the result": {out: `{"type":"array","items":{"type":"string"}}`, want: "([]string, error) { return decode[[]string]("},
		"schemas of true":      {in: `true`, out: `true`, want: "T(ctx context.Context) (json.RawMessage, error)"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.in == "" {
				test.in = `{"type":"object"}`
			}
			code := generated(t, c, name, []registry.Tool{tool("t", "", test.in, test.out)})
			got := strings.Join(strings.Fields(code), " ")
			assert.Contains(t, got, test.want, "got\n%s\nwant it to contain", code)
		})
	}
}

// Names of tools that are one in Go, or that Go gives a meaning, are told apart.
func TestGenerateMethods(t *testing.T) {
	var tools []registry.Tool
	for _, name := range []string{"call", "Call", "new", "client", "caller", "decode", "read_byte", "MarshalJSON", "seek", "get", "get_input", "Get", "日本", "func", "get-user.by id", "get_user_by_id", "string", "error"} {
		tools = append(tools, tool(name, "Line one\n*/ func init() { panic(1) }\n//go:generate rm\n\x1b[31mred\ufeff", `{"type":"object","properties":{"input":{"type":"object","properties":{"a":true}}}}`, `{"type":"object","properties":{"a":true}}`))
	}
	code := generated(t, checker{}, "func", tools)
	for _, want := range []string{"Call", "Call2", "New", "Client", "Caller", "Decode", "ReadByte2", "MarshalJSON2", "Seek2", "Get", "GetInput", "Get2", "X日本", "Func", "GetUserByID", "GetUserByID2", "String", "Error"} {
		assert.Contains(t, code, "\nfunc (c *Client) "+want+"(ctx context.Context, in ")
	}
	assert.LacksAll(t, code, "\n*/", "\n//go:", "\x1b", "\ufeff")
}

// References that multiply are followed once each.
func TestGenerateManyReferences(t *testing.T) {
	defs := map[string]any{}
	for i := range 60 {
		next := map[string]any{"$ref": "#/$defs/d" + strconv.Itoa(i+1)}
		defs["d"+strconv.Itoa(i)] = map[string]any{"type": "object", "properties": map[string]any{"a": next, "b": next}}
	}
	schema := assert.Value(json.Marshal(map[string]any{"$ref": "#/$defs/d0", "$defs": defs}))(t)
	code := generated(t, checker{}, "many", []registry.Tool{tool("t", "", string(schema), "")})
	assert.Equal(t, strings.Count(code, " struct {"), 61, "structs")
}

func TestPackageName(t *testing.T) {
	for server, want := range map[string]string{
		"notes": "notes", "GitHub-2": "github2", "go": "gomcp", "func": "funcmcp", "main": "mainmcp", "documentation": "documentationmcp", "1st": "x1st", "日本": "x日本", "...": "x",
	} {
		assert.Equal(t, packageName(server), want, "for %q", server)
	}
}

// Whatever schemas say, the code compiles.
func TestGenerateAnySchema(t *testing.T) {
	c := checker{}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var tools []registry.Tool
		for i := range 4 {
			in := assert.Value(json.Marshal(anySchema(r, 4)))(t)
			out := assert.Value(json.Marshal(anySchema(r, 4)))(t)
			tools = append(tools, tool(anyName(r)+strconv.Itoa(i%2), anyName(r), string(in), string(out)))
		}
		generated(t, c, "seed"+strconv.FormatUint(seed, 10), tools)
	}
}

func anyName(r *rand.Rand) string {
	names := []string{"a", "A", "input", "Output", "item", "value", "t", "T", "T2", "type", "func", "map", "string", "json", "Client", "New", "marshalJSON", "a b", "a-b", "a_b", "é", "日", "-", ",", "", "`", "\"", "$ref", "1", "id", "ID", "v", "fields"}
	return names[r.IntN(len(names))]
}

// anySchema returns a schema that may make no sense.
func anySchema(r *rand.Rand, depth int) any {
	refs := []string{"#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/anyOf/0", "#/$defs/a/items", "#/nothing", "other"}
	kinds := []any{"object", "object", "array", "string", "integer", "null", []any{"object", "null"}, []any{"array", "string"}, 5}
	s := map[string]any{}
	if depth == 0 {
		return map[string]any{"$ref": refs[r.IntN(len(refs))]}
	}
	if r.IntN(4) > 0 {
		s["type"] = kinds[r.IntN(len(kinds))]
	}
	for range r.IntN(4) {
		one := anySchema(r, depth-1)
		switch key := []string{"properties", "items", "additionalProperties", "anyOf", "oneOf", "allOf", "$defs", "enum", "required", "description", "default", "const", "$ref", "prefixItems", "nullable"}[r.IntN(15)]; key {
		case "properties", "$defs":
			s[key] = map[string]any{"a": one, "b": anySchema(r, depth-1), anyName(r): anySchema(r, depth-1), anyName(r): true}
			if r.IntN(2) == 0 {
				s["required"] = []any{"a", anyName(r)}
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			s[key] = []any{one, anySchema(r, depth-1), map[string]any{"type": "null"}}[r.IntN(2):]
		case "enum", "required":
			s[key] = []any{anyName(r), 1, nil}[:1+r.IntN(3)]
		case "description", "default", "const":
			s[key] = anyName(r)
		case "$ref":
			s[key] = refs[r.IntN(len(refs))]
		case "nullable":
			s[key] = true
		default:
			s[key] = one
		}
	}
	return s
}
