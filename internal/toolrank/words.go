package toolrank

import (
	"bytes"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/bm25"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Fields returns how much a word counts where, in the order of Words.
func Fields() []bm25.Field {
	return []bm25.Field{
		{Weight: 4, B: 0.5},   // name
		{Weight: 2, B: 0.5},   // title
		{Weight: 1.5, B: 0.6}, // description
		{Weight: 1, B: 0.6},   // names of parameters
		{Weight: 0.5, B: 0.7}, // what is said of them
		{Weight: 1.5, B: 0.3}, // server
	}
}

// maxFieldText bounds what is read of one field of a tool, in bytes. A tool that
// says more is not found by the rest of it.
const maxFieldText = 16 << 10

// MaxWords returns how many words count of each tool of a server that has so many.
// A server may list tens of megabytes; what others say has to be found all the same,
// and soon.
func MaxWords(tools int) int {
	switch {
	case tools <= 256:
		return 2048
	case tools <= 1024:
		return 512
	}
	return 128
}

// A Doc is what is read of a tool.
type Doc struct {
	Name, Server       string
	Title, Description string
	InputSchema        json.RawMessage
}

// Words returns the words of a tool, by field, at most so many together.
func Words(doc *Doc, most int) [][]string {
	var listed, said bytes.Buffer
	if jsonscan.Valid(doc.InputSchema) == nil {
		c := jsonscan.Walk(doc.InputSchema)
		readParameters(&c, &listed, &said)
	}
	take := func(text string) []string {
		words := stems(text)
		words = words[:min(len(words), most)]
		most -= len(words)
		return words
	}
	// The fields that say most in a few words come first.
	name, server, title := take(doc.Name), take(doc.Server), take(doc.Title)
	parameters, description := take(listed.String()), take(doc.Description)
	return [][]string{name, title, description, parameters, take(said.String()), server}
}

// stems returns the words of a text as they are compared, and then what two of them
// mean together: a query is read so, too.
func stems(text string) []string {
	words := bm25.Words(text[:min(len(text), maxFieldText)])
	for i := range max(len(words)-1, 0) {
		if meant := phrase(words[i], words[i+1]); meant != "" {
			words = append(words, meant)
		}
	}
	for i, w := range words {
		words[i] = bm25.Stem(w)
	}
	return words
}

// readParameters writes down the names of the properties of a schema, at any depth,
// and what is said of them.
func readParameters(c *jsonscan.Cursor, listed, said *bytes.Buffer) {
	if c.Kind() == '[' {
		for range c.Elements() {
			readParameters(c, listed, said)
		}
		return
	}
	for key := range c.Members() {
		switch kind := c.Kind(); {
		case string(key) == "properties" && kind == '{':
			for name := range c.Members() {
				note(listed, name)
				readParameters(c, listed, said)
			}
		case (string(key) == "description" || string(key) == "title") && kind == '"':
			value, _ := jsonscan.Text(c.Value())
			note(said, value)
		case string(key) == "enum" && kind == '[':
			for range c.Elements() {
				if value, ok := jsonscan.Text(c.Value()); ok {
					note(said, value)
				}
			}
		case kind == '{' || kind == '[':
			readParameters(c, listed, said)
		}
	}
}

// note adds a text, as long as there is room.
func note(to *bytes.Buffer, text []byte) {
	if to.Len() < maxFieldText {
		to.WriteByte(' ')
		to.Write(text)
	}
}
