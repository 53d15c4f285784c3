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
