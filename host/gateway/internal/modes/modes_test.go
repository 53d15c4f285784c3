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
	for _, c := range []struct {
		path, query, rest, asked string
		status                   int
	}{
		{"/mcp", "", "/mcp", "", 0},
		{"/mcp/", "", "/mcp", "", 0},
		{"/mcp/search", "", "/mcp", "search", 0},
		{"/mcp/search/", "x=1", "/mcp", "search", 0},
		{"/mcp/direct", "mode=search", "/mcp", "direct", 0},
		{"/mcp", "a=b&mode=search", "/mcp", "search", 0},
		{"/mcp", "mode=", "/mcp", "", 0},
		{"/mcp", "nomode=x", "/mcp", "", 0},
		{"/mcp/tools/list", "", "", "", 404},
		{"/readyz", "", "/readyz", "", 0},
		{"/mcp/x", "", "", "", 404},
		{"/mcp//", "", "/mcp", "", 0},
		{"/mcp/code", "", "", "", 404},
		{"/mcp", "mode=x", "", "", 400},
		{"/mcp", "mode=code", "", "", 400},
		{"/mcp", "mode=%zz", "", "", 400},
	} {
		rest, asked, err := modes.Split(c.path, c.query, false)
		if c.status != 0 {
			assert.Equal(t, assert.As[*modes.Error](t, err).Status, c.status, "%s?%s", c.path, c.query)
			continue
		}
		assert.OK(t, err, "%s?%s", c.path, c.query)
		assert.Equal(t, rest+" "+asked, c.rest+" "+c.asked, "%s?%s", c.path, c.query)
	}
	_, asked, err := modes.Split("/mcp/code", "", true)
	assert.Equal(t, asked, modes.Code, "where there is the mode code")
	assert.OK(t, err, "where there is the mode code")
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

func ExampleSplit() {
	fmt.Println(modes.Split("/mcp/search", "", false))
	fmt.Println(modes.Split("/mcp", "mode=serach", false))
	// Output:
	// /mcp search <nil>
	// /mcp  there is no mode "serach": there are auto, direct, search and code
}

func ExampleCheck() {
	fmt.Println(modes.Check("code", false))
	// Output: the mode code is off, since the program has no Options.Code: there are auto, direct and search
}
