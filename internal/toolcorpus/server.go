package toolcorpus

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
)

//go:embed testdata
var testdata embed.FS

// A Server is a real server whose tools were recorded.
type Server struct {
	// Name is the name that a user would configure it under.
	Name string `json:"name"`
	// Package is the npm package that it came from.
	Package string `json:"package"`
	// Version is the version of the package.
	Version string `json:"version"`
	// Licence is the licence of the package, an SPDX identifier.
	Licence string `json:"licence"`
	// Tools are its tools, in its own order.
	Tools []Tool `json:"-"`
}

// A Tool is a tool as its server has described it. Fields that the server has not sent
// are empty.
type Tool struct {
	// Name is the name that the server gives it, unique within the server.
	Name string `json:"name"`
	// Title is for people; few servers send one.
	Title string `json:"title"`
	// Description is for the model.
	Description string `json:"description"`
	// InputSchema is the JSON Schema of the arguments.
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema is the JSON Schema of the structured result.
	OutputSchema json.RawMessage `json:"outputSchema"`
	// Annotations are the hints of the server.
	Annotations json.RawMessage `json:"annotations"`
	// Tokens is the length of the compact JSON of name, description and
	// inputSchema, in tokens of o200k_base.
	Tokens int `json:"-"`
}

// Servers returns all servers, in the order of their names. Their JSON is compact.
// Each call reads the files again, so that the caller may change what it gets.
func Servers() []Server {
	var servers []Server
	read("servers.json", &servers)
	var tokens map[string]map[string]int
	read("tokens.json", &tokens)
	for i := range servers {
		s := &servers[i]
		read("servers/"+s.Name+".json", &s.Tools)
		for j := range s.Tools {
			t := &s.Tools[j]
			t.Tokens = tokens[s.Name][t.Name]
			for _, raw := range []*json.RawMessage{&t.InputSchema, &t.OutputSchema, &t.Annotations} {
				*raw = compact(*raw)
			}
		}
	}
	return servers
}

// compact takes the indentation away, which is in the files for their readers.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil { // there is none
		return nil
	}
	return b.Bytes()
}

// read decodes a file that is compiled in, and that the tests of this package have
// read: that it cannot be read is a mistake in the program, as with
// [regexp.MustCompile].
func read(name string, into any) {
	data, err := testdata.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		panic(fmt.Sprintf("toolcorpus: %s: %v", name, err))
	}
}
