package registry_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A whole server is looked at before one of its tools is called.
func ExampleRegistry_Quarantines() {
	accepted := ledger.New(nil)
	r := registry.New(&registry.Options{Ledger: accepted})
	server := registry.Server{Name: "mail", Fingerprint: "https://mail.example/mcp", Quarantined: true}
	if _, err := r.Replace(server, []registry.Tool{serverTool("mail", "send", "Sends a mail.")}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Quarantines(server), len(r.Snapshot().Tools()))
	err := accepted.Accept(context.Background(), "ann", accepted.Pending("mail")...)
	fmt.Println(r.Quarantines(server), len(r.Snapshot().Tools()), err)
	// Output:
	// true 0
	// false 1 <nil>
}
