package jsonc_test

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

func ExampleParse() {
	doc, err := jsonc.Parse([]byte(`{
	// who we are
	"name": "belt",
	"size": 1.50, /* exact */
}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	size := doc.Root.Member("size")
	fmt.Println(size.Value.Kind, size.Value.Text, doc.Position(size.Offset))
	fmt.Printf("%s\n", doc.Root.JSON())
	// Output:
	// a number 1.50 {4 2}
	// {"name":"belt","size":1.50}
}

func ExampleSyntaxError() {
	_, err := jsonc.Parse([]byte("{\n  \"a\": {\"b\": [1, 2 3]}\n}"))
	fmt.Println(err)
	// Output: 2:20: a.b: expected ',' or ']', found '3'
}

func ExampleSet() {
	file := []byte(`{
  "servers": {
    "files": {"command": "npx"}, // ours
  },
}`)
	file, err := jsonc.Set(file, []byte(`{"url": "https://example.com/mcp"}`), "servers", "tracker")
	fmt.Printf("%s\n%v", file, err)
	// Output:
	// {
	//   "servers": {
	//     "files": {"command": "npx"}, // ours
	//     "tracker": {
	//       "url": "https://example.com/mcp"
	//     },
	//   },
	// }
	// <nil>
}

func ExampleRemove() {
	file := []byte(`{
  // ours
  "files": {"command": "npx"},
  "tracker": {"url": "https://example.com/mcp"}
}`)
	file, err := jsonc.Remove(file, "files")
	fmt.Printf("%s\n%v", file, err)
	// Output:
	// {
	//   "tracker": {"url": "https://example.com/mcp"}
	// }
	// <nil>
}
