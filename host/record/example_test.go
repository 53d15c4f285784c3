package record_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/storage"
)

func ExampleOf() {
	s := &config.Server{Name: "GitHub", URL: "https://api.example.com/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer sk-0123456789abcd"}}
	shown, _ := json.Marshal(record.Of(s))
	fmt.Println(string(shown))
	// Output:
	// {"name":"GitHub","url":"https://api.example.com/mcp","headers":{"Authorization":"Bearer ****abcd"},"enabled":true}
}

func ExamplePatch_Apply() {
	r := &config.Server{Name: "GitHub", URL: "https://api.example.com/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer sk-0123456789abcd"}}

	// What was shown masked comes back with a change: the secret stays.
	var p record.Patch
	_ = json.Unmarshal([]byte(`{"readTimeoutSeconds": 60, "headers": {"Authorization": "Bearer ****abcd"}}`), &p)
	next, err := p.Apply(r)
	fmt.Println(next.ReadTimeout, next.Headers["Authorization"] == r.Headers["Authorization"], err)

	// To another host it does not go along.
	_ = json.Unmarshal([]byte(`{"url": "https://evil.example.com/", "headers": {"Authorization": "Bearer ****abcd"}}`), &p)
	_, err = p.Apply(r)
	fmt.Println(err)
	// Output:
	// 1m0s true <nil>
	// server GitHub: headers.Authorization: what is stored was entered for another address or program: enter it anew, or remove it
}

func ExampleValidate() {
	err := record.Validate(&config.Server{Name: "files", Transport: config.TransportStdio})
	var wrong *record.Error
	fmt.Println(errors.As(err, &wrong), wrong.Code)
	fmt.Println(err)
	// Output:
	// true stdio_command_required
	// server files: command: a stdio server needs a command: write the program to run
}

func ExampleEncode() {
	r := &config.Server{Name: "files", Command: "npx", Args: []string{"-y", "server"}, Disabled: true}
	data, err := record.Encode(r)
	fmt.Println(string(data), err)
	again, err := record.Decode(data)
	fmt.Println(again.Disabled, err)
	// Output:
	// {"name":"files","command":"npx","args":["-y","server"],"enabled":false} <nil>
	// true <nil>
}

func ExampleAdd() {
	ctx := context.Background()
	store := record.NewMemoryStore()
	_, err := record.Add(ctx, store, &config.Server{Name: "My server", Command: "npx"})
	fmt.Println(err)
	_, err = record.Add(ctx, store, &config.Server{Name: "My.server", Command: "npx"})
	fmt.Println(err)
	c, err := record.Read(ctx, store, nil)
	fmt.Println(c.Servers[0].Name, err)
	one, err := record.ReadServer(ctx, store, "My server", nil)
	fmt.Println(one.Command, err)
	// Output:
	// <nil>
	// server My.server: name: there is a server of that name: choose another name, or change that server
	// My_server <nil>
	// npx <nil>
}

func ExampleOpenStatusFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	f := record.OpenStatusFile(filepath.Join(dir, "status.json"))
	err = f.SaveStatuses(ctx, map[string]record.LastStatus{"files": {Status: record.StatusConnected, Tools: 7}})
	fmt.Println(err)
	all, err := f.Statuses(ctx)
	fmt.Println(all["files"].Status, all["files"].Tools, err)
	// Output:
	// <nil>
	// connected 7 <nil>
}

func ExampleNewStore() {
	ctx := context.Background()
	kept := storage.NewMemory() // or that of a database, see package sqlstore
	servers, statuses := record.NewStore(kept, "servers"), record.NewStatuses(kept, "statuses")
	if _, err := record.Add(ctx, servers, &config.Server{Name: "files", Command: "npx"}); err != nil {
		fmt.Println(err)
		return
	}
	if err := statuses.SaveStatuses(ctx, map[string]record.LastStatus{"files": {Status: record.StatusConnected, Tools: 7}}); err != nil {
		fmt.Println(err)
		return
	}
	all, err := record.NewStore(kept, "servers").Records(ctx) // after a restart
	fmt.Println(len(all), all[0].Record.Title, err)
	// Output: 1 files <nil>
}

// What one replica adds, another learns.
func ExampleChanges() {
	ctx := context.Background()
	kept := storage.NewMemory() // or that of a database
	here, there := record.NewStore(kept, "servers"), record.NewStore(kept, "servers")
	first := true
	for range record.Changes(here)(ctx) { // a program gives record.Changes(here) to host.Host.Follow
		all, err := here.Records(ctx)
		fmt.Println(len(all), err)
		if !first {
			break
		}
		first = false
		if _, err := record.Add(ctx, there, &config.Server{Name: "notes", Command: "notes-server"}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// 0 <nil>
	// 1 <nil>
}
