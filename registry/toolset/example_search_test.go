package toolset_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

type item struct {
	ID string `json:"id"`
}

func noteTools() []registry.Tool {
	do := func(context.Context, item) (string, error) { return "done", nil }
	return []registry.Tool{
		registry.MustFunc("delete_note", "Removes a note for good.", do),
		registry.MustFunc("read_note", "Returns the text of a note.", do),
		registry.MustFunc("send_mail", "Sends a message to somebody.", do),
	}
}

// However a query spells it.
func ExampleFinder_Search() {
	reg := registry.New(nil)
	finder, err := toolset.New(reg, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := reg.Add(noteTools()...); err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"deleteNote", "erase notes", "email"} {
		matches, err := finder.Search(context.Background(), toolset.Query{Text: text, Limit: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, m := range matches {
			fmt.Println(text, "->", m.Tool.Definition().Name)
		}
	}
	// Output:
	// deleteNote -> delete_note
	// erase notes -> delete_note
	// email -> send_mail
}

// The words of a trade, and only the tools that delete nothing.
func ExampleOptions() {
	reg := registry.New(nil)
	finder, err := toolset.New(reg, &toolset.Options{
		About: func(tool *registry.Definition) string {
			if strings.Contains(tool.Name, "note") {
				return "memo"
			}
			return ""
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := reg.Add(noteTools()...); err != nil {
		fmt.Println(err)
		return
	}
	matches, err := finder.Search(context.Background(), toolset.Query{
		Text: "memo",
		Keep: func(tool *registry.Definition, _ registry.Hints) bool { return !strings.HasPrefix(tool.Name, "delete") },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range matches {
		fmt.Println(m.Tool.Definition().Name)
	}
	// Output: read_note
}

// A tool that is described in another language than its users speak.
func ExampleOptions_about() {
	said := map[string]string{"kalender_termin": "Create a meeting or an event in the calendar"} // such as a model has written
	reg := registry.New(nil)
	finder, err := toolset.New(reg, &toolset.Options{
		About: func(tool *registry.Definition) string { return said[tool.Name] },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	do := func(context.Context, item) (string, error) { return "done", nil }
	if err := reg.Add(registry.MustFunc("kalender_termin", "Legt einen Termin an.", do)); err != nil {
		fmt.Println(err)
		return
	}
	matches, err := finder.Search(context.Background(), toolset.Query{Text: "schedule a meeting"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range matches {
		fmt.Println(m.Tool.Definition().Name)
	}
	// Output: kalender_termin
}

// What a program that has tools of its own for searching shows a model.
func ExampleBrief() {
	tool := noteTools()[0].Definition()
	fmt.Println(toolset.Brief(tool))
	fmt.Println(string(toolset.Describe(tool))[:60])
	// Output:
	// delete_note(id: string) [native]
	//   Removes a note for good.
	// {"name":"delete_note","description":"Removes a note for good
}

func ExampleEstimateTokens() {
	clock := registry.MustFunc("clock", "Tell the time.", func(context.Context, struct{}) (string, error) { return "noon", nil })
	fmt.Println(toolset.EstimateTokens(clock.Definition()) < 100)
	// Output: true
}
