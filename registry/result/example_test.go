package result_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

func ExampleText() {
	res := &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "Sales in May:"},
		&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 1234)},
		&mcp.ResourceLink{Name: "sales.csv", URI: "file:///sales.csv"},
	}}
	fmt.Println(result.Text(res))
	// Output:
	// Sales in May:
	// [image image/png, 1234 bytes]
	// [resource sales.csv <file:///sales.csv>]
}

func ExampleTerminalText() {
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "All fine\x1b[2J"}}}
	fmt.Println(result.TerminalText(res))
	// Output: All fine<U+001B>[2J
}

func ExampleDecode() {
	type weather struct {
		City    string  `json:"city"`
		Celsius float64 `json:"celsius"`
	}
	res := &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"city":"Bern","celsius":21.5}`)}
	w, err := result.Decode[weather](res)
	fmt.Println(w.City, w.Celsius, err)

	failed := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such city"}}}
	_, err = result.Decode[weather](failed)
	var failure *result.ToolFailedError
	fmt.Println(errors.As(err, &failure), err)
	// Output:
	// Bern 21.5 <nil>
	// true the tool failed: no such city
}

func ExampleOptions() {
	r := registry.New(&registry.Options{Results: &result.Options{
		MaxBytes: 1 << 10,
		Redact:   true,
		Secrets:  map[string]*regexp.Regexp{"badge": regexp.MustCompile(`badge (\d+)`)},
	}})
	_ = r.Add(registry.MustFunc("log", "Read the log", func(context.Context, struct{}) (string, error) {
		return "opened by badge 4711\n" + strings.Repeat("nothing happened\n", 10000) + "closed", nil
	}))
	res, err := r.Call(context.Background(), "log", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	text := result.Text(res)
	fmt.Println(len(text) <= 1<<10)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "nothing") {
			fmt.Print(regexp.MustCompile(`[A-Z0-9]{26}`).ReplaceAllString(line, "..."))
		}
	}
	// Output:
	// true
	// opened by badge [redacted: badge]
	//
	// [bytes 357 to 169694 of 170040 are left out here; read them with the tool read_result: {"handle":"...","block":0,"offset":357}]
	// closed
}
