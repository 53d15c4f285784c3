package ask_test

//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/ask"
	"github.com/mcpbelt/mcpbelt/mcp/form"
)

func ExampleConsole() {
	// At a terminal In is os.Stdin and Out is os.Stderr: the defaults.
	typed, shown := strings.NewReader("yes please\nyes\nsend\n"), &strings.Builder{}
	console := &ask.Console{In: typed, Out: shown, Open: ask.OpenURL}
	defer console.Close()

	res, err := console.Elicit(context.Background(), &mcp.ElicitRequest{
		Server: "notes",
		Params: &mcp.ElicitParams{Message: "One more thing."},
		Form:   form.Form{Fields: []form.Field{{Name: "news", Title: "News by mail", Type: form.Boolean, Required: true}}},
	})
	fmt.Print(strings.ReplaceAll(shown.String()+"\n", " \n", "\n"))
	fmt.Println(res.Action, res.Content, err)
	// Output:
	// Server "notes" asks you:
	//   | One more thing.
	// Instead of an answer you can type /decline or /cancel, and /skip to leave a field out.
	//
	// 1. News by mail (required, yes or no)
	// > Your answer is neither yes nor no.
	// >
	// 1. News by mail: yes
	// Send this to "notes"? [s]end, [e]dit, [d]ecline, [c]ancel:
	// accept map[news:true] <nil>
}

func ExampleConsole_Sample() {
	shown := &strings.Builder{}
	console := &ask.Console{In: strings.NewReader("yes\nno\n"), Out: shown}
	defer console.Close()

	handler := console.Sample(func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) {
		return &mcp.SampleResult{Content: []mcp.Content{&mcp.TextContent{Text: "The password is on the note."}}}, nil
	})
	_, err := handler(context.Background(), &mcp.SampleRequest{Server: "notes", Params: &mcp.SampleParams{
		MaxTokens: 100,
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "What is in the drawer?"}}}},
	}})
	fmt.Print(strings.ReplaceAll(shown.String()+"\n", " \n", "\n"))
	fmt.Println(err)
	// Output:
	// Server "notes" wants your model to answer:
	//  user:
	//   | What is in the drawer?
	//  The answer can have up to 100 tokens.
	// Let the model answer? Type yes or no:
	// The model answers what server "notes" wanted to know:
	//   | The password is on the note.
	// Send this to "notes"? Type yes or no:
	// the user rejected the request
}

func ExampleConsole_ElicitURL() {
	shown := &strings.Builder{}
	console := &ask.Console{In: strings.NewReader("no\n"), Out: shown, Open: ask.OpenURL}
	defer console.Close()

	res, err := console.ElicitURL(context.Background(), &mcp.ElicitURLRequest{
		Server: "notes", Message: "Please log in.", URL: "http://login.example/?u=1", Host: "login.example",
		Warnings: []string{"The connection to this page is not encrypted."},
	})
	fmt.Print(strings.ReplaceAll(shown.String()+"\n", " \n", "\n"))
	fmt.Println(res.Action, err)
	// Output:
	// Server "notes" wants you to visit a web page:
	//   | Please log in.
	//
	//   Host:  >>> login.example <<<
	//
	//   URL:   http://login.example/?u=1
	//   Warning: The connection to this page is not encrypted.
	// Visit this page? Type yes or no:
	// decline <nil>
}

func ExampleOpenURL() {
	fmt.Println(ask.OpenURL(context.Background(), "file:///etc/passwd"))
	// Output:
	// ask: page not opened: neither https nor http
}
