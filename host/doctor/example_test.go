package doctor_test

import (
	"context"
	"fmt"
	"log"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// exampleHost returns a host with a server "notes", made in this process, and one
// that is switched off.
func exampleHost(ctx context.Context) *host.Host {
	h := host.New(&host.Options{
		StateDir: host.NoState,
		Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
			if e.Command != "notes-server" {
				return nil, nil
			}
			s := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1.0"}, nil)
			s.AddTool(&sdk.Tool{Name: "create", InputSchema: map[string]any{"type": "object"}}, nil)
			return &transport.Pipe{Serve: s.Run}, nil
		},
	})
	c, err := config.Parse(ctx, "mcp.json", []byte(`{"mcpServers": {
		"notes": {"command": "notes-server"},
		"mail": {"command": "mail-server", "enabled": false}
	}}`), nil)
	if err == nil {
		_, err = h.Apply(ctx, c)
	}
	if err != nil {
		panic(err)
	}
	return h
}

// A page that shows how the servers do asks for numbers and for what would help.
func ExampleHealthOfAll() {
	h := exampleHost(context.Background())
	defer h.Close()
	for _, s := range doctor.HealthOfAll(h) {
		fmt.Printf("%s: %s, %s; %d tools, %d calls; to do: %s\n", s.Status.Name, s.Status.Stage, s.Level, s.Status.Tools, s.Calls.Total.Ended(), s.Action)
	}
	// Output:
	// notes: ready, healthy; 1 tools, 0 calls; to do: none
	// mail: disabled, healthy; 0 tools, 0 calls; to do: enable
}

func ExampleHealthOf() {
	h := exampleHost(context.Background())
	defer h.Close()
	if _, err := doctor.HealthOf(h, "nots"); err != nil {
		fmt.Println(err)
	}
	s, err := doctor.HealthOf(h, "notes")
	fmt.Println(s.Level, s.Restarts, err)
	// Output:
	// host: no server "nots"; there are ["notes" "mail"]
	// healthy 0 <nil>
}

// An entry is tried out before it is written into the configuration.
func ExampleTest() {
	ctx := context.Background()
	h := exampleHost(ctx)
	defer h.Close()
	for _, entry := range []string{`{"command": "notes-server"}`, `{"command": "/no/such/server"}`} {
		c, err := config.Parse(ctx, "new.json", []byte(`{"mcpServers": {"new": `+entry+`}}`), nil)
		if err != nil {
			log.Print(err)
			return
		}
		report, err := doctor.Test(ctx, h, c.Servers[0])
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println("success:", report.Success, "reached:", report.Reached)
		for _, t := range report.Tools {
			fmt.Println("tool:", t.RegisteredName, t.State)
		}
		for _, hint := range report.Hints {
			fmt.Println(hint.Code+":", hint.Text)
		}
	}
	// Output:
	// success: true reached: listed
	// tool: new__create listed
	// success: false reached: resolved
	// command_not_found: There is no file "/no/such/server", or it is a script whose first line names an interpreter that is not there. A relative path is looked for from "cwd". Correct "command" in the entry, or install what is missing.
}

func ExampleDiagnose() {
	ctx := context.Background()
	h := exampleHost(ctx)
	defer h.Close()
	for _, name := range []string{"notes", "mail"} {
		d, err := doctor.Diagnose(ctx, h, name)
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println(name, d.Program, d.Version, "answers a ping:", d.PingSeconds > 0)
		fmt.Println(d.Doing)
	}
	// Output:
	// notes notes 1.0 answers a ping: true
	// It is connected, and its tools are listed.
	// mail   answers a ping: false
	// It is switched off.
}
