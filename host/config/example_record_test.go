package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/config"
)

func ExampleRecord() {
	r := config.Record{Name: "GitHub", URL: "https://api.example.com/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer sk-0123456789abcd"}}
	fmt.Println(r)
	shown, _ := json.Marshal(r)
	fmt.Println(string(shown))
	// Output:
	// GitHub (auto: https://api.example.com/mcp; headers Authorization=Bearer sk-****abcd)
	// {"name":"GitHub","url":"https://api.example.com/mcp","headers":{"Authorization":"Bearer sk-****abcd"},"enabled":true}
}

func ExampleRecord_Apply() {
	r := &config.Record{Name: "GitHub", URL: "https://api.example.com/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer sk-0123456789abcd"}}

	// What was shown masked comes back with a change: the secret stays.
	var p config.Patch
	_ = json.Unmarshal([]byte(`{"readTimeoutSeconds": 60, "headers": {"Authorization": "Bearer sk-****abcd"}}`), &p)
	next, err := r.Apply(&p)
	fmt.Println(next.ReadTimeout, next.Headers["Authorization"] == r.Headers["Authorization"], err)

	// To another host it does not go along.
	_ = json.Unmarshal([]byte(`{"url": "https://evil.example.com/", "headers": {"Authorization": "Bearer sk-****abcd"}}`), &p)
	_, err = r.Apply(&p)
	fmt.Println(err)
	// Output:
	// 1m0s true <nil>
	// server GitHub: headers.Authorization: what is stored was entered for another address or program: enter it anew, or remove it
}

func ExampleRecord_Validate() {
	err := (&config.Record{Name: "files", Transport: config.TransportStdio}).Validate()
	var wrong *config.RecordError
	fmt.Println(errors.As(err, &wrong), wrong.Code)
	fmt.Println(err)
	// Output:
	// true stdio_command_required
	// server files: command: a stdio server needs a command: write the program to run
}

func ExampleRecord_Encode() {
	r := &config.Record{Name: "files", Command: "npx", Args: []string{"-y", "server"}, Disabled: true}
	data, err := r.Encode()
	fmt.Println(string(data), err)
	again, err := config.DecodeRecord(data)
	fmt.Println(again.Disabled, err)
	// Output:
	// {"name":"files","command":"npx","args":["-y","server"],"enabled":false} <nil>
	// true <nil>
}

func ExampleOpenFileStore() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mcp.json")
	text := `{
  "mcpServers": {
    "files": {"command": "npx"} // by hand
  }
}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	store := config.OpenFileStore(path, nil)
	_, _, err = config.UpdateRecord(ctx, store, "files", &config.Patch{Lazy: config.Some(true)})
	fmt.Println(err)
	_, err = config.RemoveRecord(ctx, store, "other")
	fmt.Println(err)
	changed, _ := os.ReadFile(path)
	fmt.Print(string(changed))
	// Output:
	// <nil>
	// server other: there is no such server
	// {
	//   "mcpServers": {
	//     "files": {"command": "npx", "lazy": true} // by hand
	//   }
	// }
}

func ExampleAddRecord() {
	ctx := context.Background()
	store := config.NewMemoryStore()
	_, err := config.AddRecord(ctx, store, &config.Record{Name: "My server", Command: "npx"})
	fmt.Println(err)
	_, err = config.AddRecord(ctx, store, &config.Record{Name: "My.server", Command: "npx"})
	fmt.Println(err)
	c, err := config.ReadStore(ctx, store, nil)
	fmt.Println(c.Servers[0].Name, err)
	one, err := config.ReadServer(ctx, store, "My server", nil)
	fmt.Println(one.Command, err)
	// Output:
	// <nil>
	// server My.server: name: there is a server of that name: choose another name, or change that server
	// My_server <nil>
	// npx <nil>
}

func ExampleLoadContext() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mcp.json")
	text := `{
  "inputs": [{"id": "key", "type": "promptString", "description": "API key", "password": true}],
  "servers": {"a": {"command": "npx", "env": {"KEY": "${input:key}"}}}
}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	c, err := config.LoadContext(context.Background(), path, &config.Options{
		Format:  "vscode",
		Secrets: config.NewSecrets(), // keyringstore.Secrets("") remembers them for good
		Input: func(_ context.Context, in config.Input) (config.Secret, error) {
			fmt.Printf("%s (hidden: %v)?\n", in.Description, in.Password)
			return "s3cret", nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Servers[0].Err, c.Servers[0].Env["KEY"])
	// Output:
	// API key (hidden: true)?
	// <nil> [redacted]
}

func ExampleInputSecret() {
	ctx, secrets := context.Background(), config.NewSecrets()
	name := config.InputSecret("/project/.vscode/mcp.json", "vscode", "key")
	fmt.Println(secrets.SetSecret(ctx, name, "")) // the answer is forgotten
	// Output: <nil>
}

func ExampleOpenStatusFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	f := config.OpenStatusFile(filepath.Join(dir, "status.json"))
	err = f.SaveStatuses(ctx, map[string]config.LastStatus{"files": {Status: config.StatusConnected, Tools: 7}})
	fmt.Println(err)
	all, err := f.Statuses(ctx)
	fmt.Println(all["files"].Status, all["files"].Tools, err)
	// Output:
	// <nil>
	// connected 7 <nil>
}
