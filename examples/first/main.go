// First runs the MCP servers of mcp.json, and calls a tool. It is the first program of the
// README:
//
//	cd examples/first && go run .
//
// It needs Node: npx downloads the servers on the first run.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

func main() {
	ctx := context.Background()
	h, err := host.Open(ctx, "mcp.json", &host.Options{OpenWait: time.Minute}) // npx may download first
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	for _, s := range h.Servers() { // a server that failed says why
		fmt.Println(s.Name, s.Stage, s.Tools, "tools", s.Err)
	}
	res, err := h.Registry().Call(ctx, "everything__echo", []byte(`{"message":"hello"}`))
	if err != nil {
		log.Print(err) // says whether the call ran, may have run, or was never sent
		return
	}
	fmt.Println(result.Text(res))
}
