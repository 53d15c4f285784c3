package static_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/embed/static"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// A search that knows what words are like each other.
func Example() {
	vectors, err := static.Read(strings.NewReader(glove), nil) // or Open, of a file
	if err != nil {
		fmt.Println(err)
		return
	}
	reg := registry.New(nil)
	finder, err := toolset.New(reg, &toolset.Options{Embedder: vectors})
	if err != nil {
		fmt.Println(err)
		return
	}
	type none struct{}
	do := func(context.Context, none) (string, error) { return "done", nil }
	if err := reg.Add(registry.MustFunc("weather", "", do), registry.MustFunc("clock", "", do), registry.MustFunc("invoice", "", do)); err != nil {
		fmt.Println(err)
		return
	}
	matches, err := finder.Search(context.Background(), toolset.Query{Text: "rain", Limit: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(matches[0].Tool.Definition().Name)
	// Output: weather
}
