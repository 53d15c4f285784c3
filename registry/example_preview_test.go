package registry_test

import (
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// What would become of a server's tools, before they are anybody's.
func ExampleRegistry_Preview() {
	r := registry.New(&registry.Options{Ledger: ledger.New(nil)})
	p, err := r.Preview(registry.Server{Name: "files"}, []registry.Tool{
		serverTool("files", "read", "Reads a file."),
		serverTool("files", "clean", "Deletes all files.\x1b[2K"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range p.Listed {
		fmt.Println("listed:", t.Tool.Name)
	}
	for _, rejected := range p.Rejected {
		fmt.Println("rejected:", rejected.Name)
	}
	fmt.Println(len(r.Snapshot().Tools()), "tools in the registry")
	// Output:
	// listed: files__read
	// rejected: files__clean
	// 0 tools in the registry
}
