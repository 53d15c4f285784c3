package modes_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/modes"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSplit(t *testing.T) {
	for path, want := range map[string]string{"/mcp": "/mcp ", "/mcp/": "/mcp ", "/mcp//": "/mcp ", "/mcp/search": "/mcp search", "/mcp/search/": "/mcp search", "/mcp/tools/list": "/mcp tools/list", "/readyz": "/readyz "} {
		rest, asked := modes.Split(path)
		assert.Equal(t, rest+" "+asked, want, "%s", path)
	}
}

// A choice stays, and they are bounded.
func TestChoices(t *testing.T) {
	var c modes.Choices[int]
	of := func(client int, fallback string) string { return c.Of(client, func() string { return fallback }) }
	for i := range 4097 {
		of(i, modes.Direct)
	}
	assert.Equal(t, of(4096, modes.Search), modes.Direct, "for a client that was there")
	assert.Equal(t, of(1, modes.Search), modes.Direct, "for the oldest client but one")
	assert.Equal(t, of(0, modes.Search), modes.Search, "for the oldest client, which was forgotten")
}

func ExampleCheck() {
	fmt.Println(modes.Check("code", false))
	// Output: the mode code is off, since the program has no Options.Code: there are auto, direct and search
}
