package content_test

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// exampleLibrary runs two servers that have the same resource and the same prompt.
func exampleLibrary(ctx context.Context) *host.Host {
	fill := with(resource("file:///readme"), template("file:///{name}"), prompt("review"))
	h := host.New(contentsOptions(contents{"notes": fill, "code": fill}))
	c, err := config.Parse(ctx, "mcp.json", []byte(`{"mcpServers": {"notes": {"command": "n"}, "code": {"command": "c"}}}`), nil)
	if err == nil {
		_, err = h.Apply(ctx, c)
	}
	if err != nil {
		panic(err)
	}
	return h
}

func ExampleContent_Resources() {
	ctx := context.Background()
	h := exampleLibrary(ctx)
	defer h.Close()

	l := content.New(h).Resources(ctx, &content.ListOptions{Servers: []string{"notes", "code", "nobody"}})
	for _, r := range l.Items {
		fmt.Println(r.Address, r.Resource.Name, len(r.Findings))
	}
	for server := range l.Errors {
		fmt.Println("failed:", server)
	}
	// Output:
	// mcpbelt:notes/file:///readme r 0
	// mcpbelt:code/file:///readme r 0
	// failed: nobody
}

func ExampleContent_ReadResource() {
	ctx := context.Background()
	h := exampleLibrary(ctx)
	defer h.Close()

	res, err := content.New(h).ReadResource(ctx, "mcpbelt:code/file:///readme", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Contents[0].Text)
	_, err = content.New(h).ReadResource(ctx, "mcpbelt:cod/file:///readme", nil)
	fmt.Println(err)
	// Output:
	// it is file:///readme
	// content: no resource address "mcpbelt:cod/file:///readme": there is no server "cod"; did you mean "mcpbelt:code/file:///readme"?
}

func ExampleContent_ResourceTemplates() {
	ctx := context.Background()
	h := exampleLibrary(ctx)
	defer h.Close()

	for _, t := range content.New(h).ResourceTemplates(ctx, &content.ListOptions{Servers: []string{"code"}}).Items {
		address := strings.Replace(t.Address, "{name}", "main.go", 1)
		res, err := content.New(h).ReadResource(ctx, address, nil)
		fmt.Println(t.Address, res.Contents[0].Text, err)
	}
	// Output: mcpbelt:code/file:///{name} it is file:///main.go <nil>
}

func ExampleContent_CompleteTemplate() {
	ctx := context.Background()
	h := exampleLibrary(ctx)
	defer h.Close()

	res, err := content.New(h).CompleteTemplate(ctx, "mcpbelt:code/file:///{name}", mcp.CompleteArgument{Name: "name", Value: "ma"}, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.TrimSpace(res.Completion.Values[0])) // this server echoes
	// Output: code file:///{name} name=ma
}

func ExampleContent_ResourceUpdates() {
	ctx := context.Background()
	h := exampleLibrary(ctx)
	defer h.Close()

	for address, err := range content.New(h).ResourceUpdates(ctx, "mcpbelt:code/file:///readme") {
		if err != nil {
			fmt.Println(err)
			return
		}
		res, err := content.New(h).ReadResource(ctx, address, nil)
		fmt.Println(address, len(res.Contents), err)
		break // or go on, and read it again after each change
	}
	// Output: mcpbelt:code/file:///readme 1 <nil>
}

func ExampleContent_Prompts() {
	ctx := context.Background()
	h := exampleLibrary(ctx)
	defer h.Close()

	l := content.New(h).Prompts(ctx, &content.ListOptions{Servers: []string{"notes", "code"}})
	for _, p := range l.Items {
		fmt.Println(p.Name, p.Prompt.Name)
	}
	fmt.Println(l.Err())
	// Output:
	// notes__review review
	// code__review review
	// <nil>
}

func ExampleContent_GetPrompt() {
	ctx := context.Background()
	h := exampleLibrary(ctx)
	defer h.Close()

	res, err := content.New(h).GetPrompt(ctx, "code__review", map[string]string{"who": "Ada"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Messages[0].Content.(*sdk.TextContent).Text)
	_, err = content.New(h).GetPrompt(ctx, "code__revew", nil, nil)
	fmt.Println(strings.HasPrefix(err.Error(), `content: no prompt "code__revew"; did you mean "code__review"?`))
	// Output:
	// review for Ada
	// true
}

func ExampleContent_CompletePrompt() {
	ctx := context.Background()
	h := exampleLibrary(ctx)
	defer h.Close()

	res, err := content.New(h).CompletePrompt(ctx, "notes__review", mcp.CompleteArgument{Name: "who", Value: "A"}, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.TrimSpace(res.Completion.Values[0])) // this server echoes
	// Output: notes review who=A
}

func ExampleAddress() {
	address := content.Address("github", "file:///x?y#z")
	fmt.Println(address)
	// Output: mcpbelt:github/file:///x?y#z
}

func ExampleParseAddress() {
	server, uri, err := content.ParseAddress("mcpbelt:github/file:///x?y#z")
	fmt.Println(server, uri, err)
	// Output: github file:///x?y#z <nil>
}
