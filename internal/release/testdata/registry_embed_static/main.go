// Static finds a tool by a word that is like its name.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/embed/static"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

type nothing struct{}

func main() {
	vectors, err := static.Read(strings.NewReader("rain 1 0.1\nweather 0.9 0.2\nclock 0.1 1\n"), nil)
	if err != nil {
		log.Fatal(err)
	}
	reg := registry.New(nil)
	finder, err := toolset.New(reg, &toolset.Options{Embedder: vectors})
	if err != nil {
		log.Fatal(err)
	}
	do := func(context.Context, nothing) (string, error) { return "done", nil }
	if err := reg.Add(registry.MustFunc("weather", "", do), registry.MustFunc("clock", "", do)); err != nil {
		log.Fatal(err)
	}
	matches, err := finder.Search(context.Background(), toolset.Query{Text: "rain", Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", matches[0].Tool.Definition().Name)
}

// Output: ok weather
