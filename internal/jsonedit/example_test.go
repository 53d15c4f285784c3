package jsonedit_test

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonedit"
)

func ExampleSet() {
	file := []byte(`{
  "servers": {
    "files": {"command": "npx"}, // ours
  },
}`)
	file, err := jsonedit.Set(file, []byte(`{"url": "https://example.com/mcp"}`), "servers", "tracker")
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
	file, err := jsonedit.Remove(file, "files")
	fmt.Printf("%s\n%v", file, err)
	// Output:
	// {
	//   "tracker": {"url": "https://example.com/mcp"}
	// }
	// <nil>
}
