package jsonc_test

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

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
	//     "tracker": {"url": "https://example.com/mcp"},
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
