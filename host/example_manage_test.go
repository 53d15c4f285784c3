package host_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// managed is a host over a store in memory whose servers are in this process.
func managed(ctx context.Context) (*host.Host, error) {
	store := record.NewMemoryStore(&record.Record{Name: "notes", Command: "notes", Env: map[string]config.Secret{"KEY": "sk-0123456789abcd"}})
	return host.OpenStore(ctx, store, fakes(&host.Options{}))
}

func ExampleOpenStore() {
	ctx := context.Background()
	h, err := managed(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	fmt.Println(names(h))
	// Output: notes__echo
}

func ExampleHost_AddServer() {
	ctx := context.Background()
	h, err := managed(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	report, err := h.AddServer(ctx, &record.Record{Name: "files", Command: "files"})
	fmt.Println(report.Started, err)
	fmt.Println(names(h))
	// Output:
	// [files] <nil>
	// files__echo notes__echo
}

func ExampleHost_UpdateServer() {
	ctx := context.Background()
	h, err := managed(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	var p record.Patch
	_ = json.Unmarshal([]byte(`{"description": "my notes", "env": {"KEY": "sk-****abcd"}}`), &p)
	report, err := h.UpdateServer(ctx, "notes", &p)
	fmt.Println(report.Replaced, err)
	// Output: [notes] <nil>
}

func ExampleHost_RemoveServer() {
	ctx := context.Background()
	h, err := managed(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	report, err := h.RemoveServer(ctx, "notes")
	fmt.Println(report.Stopped, err)
	// Output: [notes] <nil>
}

func ExampleHost_ManagedServers() {
	ctx := context.Background()
	h, err := managed(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	servers, err := h.ManagedServers(ctx)
	fmt.Println(servers[0].Record, servers[0].Status.Stage, err)
	// Output: notes (stdio: notes; env KEY=sk-****abcd) ready <nil>
}
