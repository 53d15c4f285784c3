package manage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// managed is a host over a store in memory whose servers are in this process.
func managed(ctx context.Context) *manage.Manager {
	store := record.NewMemoryStore(&config.Server{Name: "notes", Command: "notes", Env: map[string]config.Secret{"KEY": "sk-0123456789abcd"}})
	m, err := manage.OpenStore(ctx, store, fakes())
	if err != nil {
		panic(err)
	}
	return m
}

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "servers")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {}}`), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	m, err := manage.Open(ctx, path, fakes())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	if _, err := m.Add(ctx, &config.Server{Name: "notes", Command: "notes"}); err != nil {
		fmt.Println(err)
		return
	}
	data, err := os.ReadFile(path)
	fmt.Println(string(data), err)
	fmt.Println(names(m.Host()))
	// Output:
	// {"mcpServers": {"notes": {"command": "notes"}}} <nil>
	// notes__echo
}

// A host that the program has configured itself gets a manager for one of its stores.
func ExampleNew() {
	ctx := context.Background()
	h := host.New(hosttest.Fakes(&host.Options{}))
	m := manage.New(h, record.NewMemoryStore(), nil)
	defer m.Close()
	report, err := m.Add(ctx, &config.Server{Name: "notes", Command: "notes"})
	fmt.Println(report.Started, err)
	// Output: [notes] <nil>
}

func ExampleOpenStore() {
	ctx := context.Background()
	m := managed(ctx)
	defer m.Close()
	fmt.Println(names(m.Host()))
	// Output: notes__echo
}

func ExampleManager_Add() {
	ctx := context.Background()
	m := managed(ctx)
	defer m.Close()
	report, err := m.Add(ctx, &config.Server{Name: "files", Command: "files"})
	fmt.Println(report.Started, err)
	fmt.Println(names(m.Host()))
	// Output:
	// [files] <nil>
	// files__echo notes__echo
}

func ExampleManager_Update() {
	ctx := context.Background()
	m := managed(ctx)
	defer m.Close()
	var p record.Patch
	_ = json.Unmarshal([]byte(`{"description": "my notes", "env": {"KEY": "****abcd"}}`), &p)
	report, err := m.Update(ctx, "notes", &p)
	fmt.Println(report.Replaced, err)
	// Output: [notes] <nil>
}

func ExampleManager_Remove() {
	ctx := context.Background()
	m := managed(ctx)
	defer m.Close()
	report, err := m.Remove(ctx, "notes")
	fmt.Println(report.Stopped, err)
	// Output: [notes] <nil>
}

func ExampleManager_Servers() {
	ctx := context.Background()
	m := managed(ctx)
	defer m.Close()
	servers, err := m.Servers(ctx)
	fmt.Println(servers[0].Record.Env["KEY"].Reveal(), servers[0].Status.Stage, err)
	// Output: ****abcd ready <nil>
}

// A page that shows servers by their IDs takes back that one was removed.
func ExampleManager_Restore() {
	ctx := context.Background()
	m := managed(ctx)
	defer m.Close()
	notes, err := m.Server(ctx, "notes")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := m.Remove(ctx, notes.ID); err != nil {
		fmt.Println(err)
		return
	}
	removed, err := m.Removed(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d removed, tools left: %q\n", len(removed), names(m.Host()))
	report, err := m.Restore(ctx, notes.ID)
	fmt.Println(report.Started, err)
	// Output:
	// 1 removed, tools left: ""
	// [notes] <nil>
}

// A page offers to take back what was done last.
func ExampleManager_Undo() {
	ctx := context.Background()
	m := managed(ctx)
	defer m.Close()
	if _, err := m.Update(ctx, "notes", record.Switch(false)); err != nil {
		fmt.Println(err)
		return
	}
	last, ok := m.LastChange()
	fmt.Println(ok, last.After.Name, last.After.Disabled)
	report, err := m.Undo(ctx, last)
	fmt.Println(report.Started, err)
	// Output:
	// true notes true
	// [notes] <nil>
}

// A change is tried out before it is made.
func ExampleManager_Preview() {
	ctx := context.Background()
	m := managed(ctx)
	defer m.Close()
	entry, err := m.Preview(ctx, "notes", &record.Patch{Keys: []string{"args"}, Values: config.Server{Args: []string{"--all"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := doctor.Test(ctx, m.Host(), entry)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Success, entry.Args)
	// Output: true [--all]
}
