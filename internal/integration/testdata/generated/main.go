// This program calls tools of five servers by the packages that mcpbelt gen go wrote. Its arguments are
// the command of each server as a list in JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"generated/everything"
	"generated/filesystem"
	"generated/gosdk"
	"generated/memory"
	"generated/thinking"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/transport"
)

func main() {
	ctx := context.Background()
	var clients []*mcp.Client
	for _, arg := range os.Args[2:] {
		var command []string
		check(json.Unmarshal([]byte(arg), &command))
		client := mcp.NewClient("server", &transport.Command{Path: command[0], Args: command[1:]}, nil)
		defer client.Close()
		clients = append(clients, client)
	}
	useEverything(ctx, everything.New(clients[0]))
	useFilesystem(ctx, filesystem.New(clients[1]), os.Args[1])
	useMemory(ctx, memory.New(clients[2]))
	useThinking(ctx, thinking.New(clients[3]))
	useSDK(ctx, gosdk.New(clients[4]))
}

func useEverything(ctx context.Context, c *everything.Client) {
	sum, err := c.GetSum(ctx, everything.GetSumInput{A: 2, B: 40})
	fmt.Println("sum", result.Text(sum), err)
	weather, err := c.GetStructuredContent(ctx, everything.GetStructuredContentInput{Location: "Chicago"})
	fmt.Println("weather", weather.Conditions, weather.Humidity > 0, err)
	image, err := c.GetTinyImage(ctx)
	check(err)
	for _, block := range image.Content {
		if image, ok := block.(*mcp.ImageContent); ok {
			fmt.Println("image", image.MIMEType, len(image.Data) > 0)
		}
	}
	links, err := c.GetResourceLinks(ctx, everything.GetResourceLinksInput{Count: new(2.0)})
	check(err)
	fmt.Println("links", len(links.Content))
	_, err = c.GetStructuredContent(ctx, everything.GetStructuredContentInput{Location: "Atlantis"})
	failed, ok := errors.AsType[*result.ToolFailedError](err)
	fmt.Println("no city", ok && strings.Contains(failed.Text, "location"))
}

func useFilesystem(ctx context.Context, c *filesystem.Client, dir string) {
	path := filepath.Join(dir, "a.txt")
	_, err := c.WriteFile(ctx, filesystem.WriteFileInput{Path: path, Content: "one\ntwo\nthree\n"})
	check(err)
	head, err := c.ReadTextFile(ctx, filesystem.ReadTextFileInput{Path: path, Head: new(1.0)})
	fmt.Println("head", head.Content, err)
	_, err = c.EditFile(ctx, filesystem.EditFileInput{Path: path, Edits: []filesystem.EditFileInputEditsItem{{OldText: "two", NewText: "2"}}})
	check(err)
	whole, err := c.ReadTextFile(ctx, filesystem.ReadTextFileInput{Path: path})
	fmt.Printf("whole %q %v\n", whole.Content, err)
	_, err = c.ReadTextFile(ctx, filesystem.ReadTextFileInput{Path: filepath.Join(dir, "missing")})
	_, ok := errors.AsType[*result.ToolFailedError](err)
	fmt.Println("no file", ok)
}

func useMemory(ctx context.Context, c *memory.Client) {
	created, err := c.CreateEntities(ctx, memory.CreateEntitiesInput{Entities: []memory.CreateEntitiesInputEntitiesItem{
		{Name: "Ada", EntityType: "person", Observations: []string{"wrote programs"}}, {Name: "Engine", EntityType: "machine"},
	}})
	fmt.Println("created", len(created.Entities), err)
	_, err = c.CreateRelations(ctx, memory.CreateRelationsInput{Relations: []memory.CreateRelationsInputRelationsItem{{From: "Ada", To: "Engine", RelationType: "programs"}}})
	check(err)
	graph, err := c.ReadGraph(ctx)
	check(err)
	fmt.Println("graph", graph.Entities[0].Name, graph.Entities[0].Observations, graph.Entities[1].Observations, graph.Relations[0].RelationType)
	none, err := c.CreateEntities(ctx, memory.CreateEntitiesInput{})
	fmt.Println("none", len(none.Entities), err)
}

func useThinking(ctx context.Context, c *thinking.Client) {
	thought, err := c.Sequentialthinking(ctx, thinking.SequentialthinkingInput{Thought: "a", ThoughtNumber: 1, TotalThoughts: 2, NextThoughtNeeded: true})
	fmt.Println("thought", thought.ThoughtNumber, thought.TotalThoughts, thought.NextThoughtNeeded, err)
}

func useSDK(ctx context.Context, c *gosdk.Client) {
	res, err := c.TestSimpleText(ctx)
	fmt.Println("text", result.Text(res), err)
	_, err = c.JSONSchema202012Tool(ctx, gosdk.JSONSchema202012ToolInput{Name: new("Ada"), ContactMethod: new("phone"), Phone: new("1"), Address: &gosdk.JSONSchema202012ToolAddress{City: new("London")}})
	fmt.Println("schema", err)
	_, err = c.TestErrorHandling(ctx)
	_, ok := errors.AsType[*result.ToolFailedError](err)
	fmt.Println("error", ok)
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
