package edit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// exampleFile makes a file in a folder of its own.
func exampleFile(text string) (path string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	path = filepath.Join(dir, ".mcp.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}
	return path, func() { _ = os.RemoveAll(dir) }
}

func ExamplePlanImport() {
	source, remove := exampleFile(`{"mcpServers": {
  "files": {"command": "npx", "env": {"TOKEN": "sk-abcdefghijkl"}, "lazy": true}
}}`)
	defer remove()
	target := filepath.Join(filepath.Dir(source), ".vscode", "mcp.json")
	plan, err := edit.PlanImport(source, target, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range plan.Servers {
		fmt.Println(s.Name, s.Remarks)
		fmt.Println(s.Launch) // what would be run, for the user
	}
	if err := plan.Apply(context.Background()); err != nil { // after the user has seen it, and plan.Diff
		fmt.Println(err)
		return
	}
	text, _ := os.ReadFile(target)
	fmt.Printf("%s", text)
	// Output:
	// files [lazy: has no place in a file of the format vscode]
	// TOKEN='****' 'npx'
	// # server files
	// {
	//   "servers": {
	//     "files": {
	//       "command": "npx",
	//       "env": {
	//         "TOKEN": "sk-abcdefghijkl"
	//       }
	//     }
	//   }
	// }
}

func ExampleOpenFileStore() {
	path, remove := exampleFile(`{
  // ours
  "mcpServers": {
    "files": {"command": "npx", "timeout": 60000}, // local
    "old": {"command": "old"},
  },
}
`)
	defer remove()
	ctx, store := context.Background(), edit.OpenFileStore(path, nil)
	_, err := record.Add(ctx, store, &config.Server{Name: "web", URL: "https://example.com/mcp",
		Headers: map[string]config.Secret{"Authorization": "Bearer ${TOKEN}"}})
	fmt.Println(err)
	_, _, err = record.Update(ctx, store, "files", &record.Patch{Keys: []string{"args"}, Values: config.Server{Args: []string{"-y", "server-files"}}})
	fmt.Println(err)
	_, err = record.Remove(ctx, store, "old")
	text, _ := os.ReadFile(path)
	fmt.Printf("%v\n%s", err, text)
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// {
	//   // ours
	//   "mcpServers": {
	//     "files": {"command": "npx", "timeout": 60000, "args": ["-y", "server-files"]}, // local
	//     "web": {
	//       "url": "https://example.com/mcp",
	//       "headers": {
	//         "Authorization": "Bearer ${TOKEN}"
	//       }
	//     },
	//   },
	// }
}

// What was removed from a config file is taken back, by a store that keeps it.
func ExampleOpenKeptFileStore() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store := edit.OpenKeptFileStore(filepath.Join(dir, "mcp.json"), filepath.Join(dir, "state", "records.json"), nil)
	ctx := context.Background()
	added, err := record.Add(ctx, store, &config.Server{Name: "files", Command: "npx"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := record.Remove(ctx, store, added.ID); err != nil {
		fmt.Println(err)
		return
	}
	restored, err := record.Restore(ctx, store, added.ID)
	fmt.Println(restored.Record.Title, restored.ID == added.ID, err)
	// Output: files true <nil>
}
