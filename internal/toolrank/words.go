package toolrank

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/bm25"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Options returns how an index ranks what [Words] returns: how much a word counts where, in
// the order of Words, and how much one that occurs again.
func Options() bm25.Options {
	return bm25.Options{K1: 2, Fields: []bm25.Field{
		{Weight: 4, B: 0.5},   // name
		{Weight: 2, B: 0.5},   // title
		{Weight: 0.9, B: 0.6}, // description
		{Weight: 1, B: 0.6},   // names of parameters
		{Weight: 0.5, B: 0.7}, // what is said of them
		{Weight: 0.5, B: 0.7}, // their values
		{Weight: 2, B: 0.3},   // server
		{Weight: 1.5, B: 0.6}, // what the host says of the tool
	}}
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
	About              string // what the host says of it
}

// maxNameWords is how many words of a name count as such. What a longer one says more is
// part of the description: a name that holds all that people may ask for is no better.
const maxNameWords = 6

// Words returns the words of a tool, by field, at most so many together.
func Words(doc *Doc, most int) [][]string {
	var p parameters
	if jsonscan.Valid(doc.InputSchema) == nil {
		c := jsonscan.Walk(doc.InputSchema)
		p.read(&c)
	}
	take := func(words []string) []string {
		words = words[:min(len(words), most)]
		most -= len(words)
		return words
	}
	called, rest := nameWords(doc.Name)
	// The fields that say most in a few words come first.
	name, server, title := take(called), take(stems(doc.Server)), take(stems(doc.Title))
	about, names := take(stems(doc.About)), take(stems(p.names.String()))
	description := take(append(stems(doc.Description), rest...))
	return [][]string{name, title, description, names, take(stems(p.said.String())), take(stems(p.values.String())), server, about}
}

// nameWords returns the words of a name that count as such, and the others. A name of stop
// words alone is one word, see [NewQuery].
func nameWords(name string) (words, rest []string) {
	words = stems(name)
	if all := bm25.Words(name); isStopWords(all) {
		words = append(words, strings.Join(all, "_"))
	}
	most := min(len(words), maxNameWords)
	return words[:most:most], words[most:]
}

// stems returns the words of a text as they are compared, and then what two of them
// mean together: a query is read so, too.
func stems(text string) []string {
	words := bm25.Words(text[:min(len(text), maxFieldText)])
	for i := range max(len(words)-1, 0) {
		if word := phrase(words[i], words[i+1]); word != "" {
			words = append(words, word)
		}
	}
	for i, w := range words {
		words[i] = bm25.Stem(w)
	}
	return words
}

// parameters are what a schema says: the names of properties at any depth, what is said of
// them, and the values that they can have.
type parameters struct{ names, said, values bytes.Buffer }

func (p *parameters) read(c *jsonscan.Cursor) {
	if c.Kind() == '[' {
		for range c.Elements() {
			p.read(c)
		}
		return
	}
	for key := range c.Members() {
		switch kind := c.Kind(); {
		case string(key) == "properties" && kind == '{':
			for name := range c.Members() {
				note(&p.names, name)
				p.read(c)
			}
		case (string(key) == "description" || string(key) == "title") && kind == '"':
			value, _ := jsonscan.Text(c.Value())
			note(&p.said, value)
		case string(key) == "enum" && kind == '[':
			for range c.Elements() {
				if value, ok := jsonscan.Text(c.Value()); ok {
					note(&p.values, value)
				}
			}
		case kind == '{' || kind == '[':
			p.read(c)
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

// isStopWords reports whether there are words, and all of them are stop words.
func isStopWords(words []string) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !isStopWord(w) })
}
