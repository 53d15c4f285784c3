//go:build integration && unix

package adminpage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func newServer(name string) *sdk.Server {
	return sdk.NewServer(&sdk.Implementation{Name: name, Version: "1.0.0"}, nil)
}

// addTool adds a tool, or changes it. It answers with a text.
func addTool(s *sdk.Server, name, description, schema, text string) {
	s.AddTool(&sdk.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		})
}

// serveHTTP serves a server over HTTP until the end of the test, and returns its address.
func serveHTTP(t *testing.T, s *sdk.Server) string {
	t.Helper()
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		for session := range s.Sessions() { // of a client that could not say that it goes
			_ = session.Close()
		}
	})
	return web.URL + "/mcp"
}

const pathSchema = `{"type":"object","properties":{"path":{"type":"string","description":"Relative to the folder of the project"}},"required":["path"]}`

// filesServer is a local server.
func filesServer() *sdk.Server {
	s := newServer("files")
	addTool(s, "read", "Reads a file and returns its text.", pathSchema, "# A file\n")
	addTool(s, "list", "Lists the files of a folder.", pathSchema, "README.md\ngo.mod\n")
	return s
}

// weatherServer has a tool whose schema has a bit of everything.
func weatherServer() *sdk.Server {
	s := newServer("weather")
	addTool(s, "forecast", "Returns the forecast for a place.", `{"type":"object","properties":{
		"place":{"type":"string","minLength":1},
		"days":{"type":"integer","minimum":1,"maximum":14,"default":3},
		"unit":{"enum":["celsius","fahrenheit"]},
		"alerts":{"type":"boolean"},
		"hours":{"type":"array","items":{"type":"number"}},
		"area":{"oneOf":[{"type":"object","properties":{"radius":{"type":"number"}}},{"type":"string"}]}},
		"required":["place"]}`, "Sunny, 21 °C")
	return s
}

// mailServer has a tool whose calls have to be approved.
func mailServer() *sdk.Server {
	s := newServer("mail")
	addTool(s, "send", "Sends a mail.", `{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}},"required":["to"]}`, "sent")
	return s
}

// notesServer has tools that change.
func notesServer() *sdk.Server {
	s := newServer("notes")
	addTool(s, "add", "Adds a note.", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, "added")
	return s
}

// Texts that must come out as texts: markup, characters that turn the direction, and control characters.
const (
	markup  = `<img src=x onerror="window.hurt=1"><script>window.hurt=1</script><b id=hurt>bold</b>`
	turning = "safe \u202Etxt.exe\u202C \u2066hidden\u2069 \x07bell"
)

// hostileServer says what could harm a page.
func hostileServer() *sdk.Server {
	s := newServer("hostile")
	schema, err := json.Marshal(map[string]any{
		"type": "object", "title": markup, "description": markup,
		"properties": map[string]any{markup: map[string]any{"type": "string", "title": markup, "description": markup, "enum": []string{markup, "b"}}},
	})
	if err != nil {
		panic(fmt.Sprint("hostile schema: ", err))
	}
	addTool(s, "trap", markup, string(schema), markup+turning)
	addTool(s, "hidden", markup+turning, pathSchema, "") // is not let in
	return s
}
