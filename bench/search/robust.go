package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// A variant is another way to write the queries, or the tools.
type variant struct {
	name   string
	query  func(text string) string // nil: as it is
	tool   func(def *registry.Definition)
	about  func(def *registry.Definition) string
	stuffs bool // one tool says all that people ask for
}

func variants() []variant {
	prose := toolcorpus.Prose()
	eachWord := func(change func(word string) string) func(string) string {
		return func(text string) string {
			words := strings.Fields(text)
			for i, w := range words {
				words[i] = change(w)
			}
			return strings.Join(words, " ")
		}
	}
	original := map[registry.Origin]string{}
	for _, s := range toolcorpus.Servers() {
		for _, t := range s.Tools {
			original[registry.Origin{Server: s.Name, Tool: t.Name}] = t.Description
		}
	}
	return []variant{
		{name: "as it was written"},
		{name: "spelling: in capitals", query: strings.ToUpper},
		{name: "spelling: a letter of the longest word is missing", query: dropLetter},
		{name: "spelling: two letters of each long word are swapped", query: eachWord(swapLetters)},
		{name: "form: as an identifier", query: camelCase},
		{name: "form: plurals", query: eachWord(plural)},
		{name: "form: in a polite sentence", query: func(text string) string {
			return "Hello! Could you please help me with something: " + text + "? Thank you very much."
		}},
		{name: "length: each word three times", query: eachWord(func(w string) string { return w + " " + w + " " + w })},
		{name: "length: after 1,000 bytes of prose", query: func(text string) string { return prose[:1000] + ".\n" + text }},
		{name: "length: after 10,000 bytes of prose", query: func(text string) string { return prose[:10_000] + ".\n" + text }},
		{name: "length: before 1,000 bytes of prose", query: func(text string) string { return text + ".\n" + prose[:1000] }},
		{name: "language: descriptions that cannot be read", tool: foreign},
		{name: "language: the same, and Options.About has them in English", tool: foreign, about: func(def *registry.Definition) string { return original[def.Origin] }},
		{name: "stuffing: a tool of all words, forty times", stuffs: true},
	}
}

// robust measures the Finder on all variants of the queries held out.
func robust() ([]robustRow, error) {
	var rows []robustRow
	for _, v := range variants() {
		finder, err := newFinder(&toolset.Options{About: v.about}, v.tool)
		if err != nil {
			return nil, err
		}
		if v.stuffs {
			if _, err := finder.Registry().Replace(registry.Server{Name: stuffed}, []registry.Tool{stuffedTool()}); err != nil {
				return nil, err
			}
		}
		row, search := robustRow{name: v.name}, searchOf(finder)
		row.Measures, err = toolcorpus.Measure(toolcorpus.HeldOut, func(text string) ([]string, error) {
			if v.query != nil {
				text = v.query(text)
			}
			found, err := search(text)
			if slices.ContainsFunc(found[:min(5, len(found))], func(key string) bool { return strings.HasPrefix(key, stuffed+"/") }) {
				row.stuffed++
			}
			return found, err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// A robustRow is what was measured of one variant.
type robustRow struct {
	name string
	toolcorpus.Measures
	stuffed int // how many queries have the stuffed tool among the first five
}

// dropLetter leaves out the third letter of the longest word.
func dropLetter(text string) string {
	longest := ""
	for _, w := range strings.Fields(text) {
		if len(w) > len(longest) {
			longest = w
		}
	}
	if len(longest) < 4 {
		return text
	}
	return strings.Replace(text, longest, longest[:2]+longest[3:], 1)
}

// swapLetters swaps the third and the fourth letter of a word of six or more.
func swapLetters(word string) string {
	if len(word) < 6 {
		return word
	}
	return word[:2] + word[3:4] + word[2:3] + word[4:]
}

// camelCase writes a text as an identifier.
func camelCase(text string) string {
	var id strings.Builder
	for i, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" .,?!:'", r) }) {
		if i > 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		id.WriteString(w)
	}
	return id.String()
}

// plural writes a word as a plural, whether it has one or not.
func plural(word string) string {
	if len(word) < 4 || strings.HasSuffix(word, "s") || strings.ContainsAny(word[len(word)-1:], ".,?!:") {
		return word
	}
	return word + "s"
}

// foreign turns the letters of what is said of a tool by 13: its names stay.
func foreign(def *registry.Definition) {
	def.Title, def.Description = turned(def.Title), turned(def.Description)
	var schema any
	if json.Unmarshal(def.InputSchema, &schema) != nil {
		return // it is part of the corpus, and can be read
	}
	turnDescriptions(schema)
	if turned, err := json.Marshal(schema); err == nil {
		def.InputSchema = turned
	}
}

// turnDescriptions turns the descriptions in a schema.
func turnDescriptions(schema any) {
	switch v := schema.(type) {
	case []any:
		for _, item := range v {
			turnDescriptions(item)
		}
	case map[string]any:
		for key, item := range v {
			if text, ok := item.(string); ok && key == "description" {
				v[key] = turned(text)
			}
			turnDescriptions(item)
		}
	}
}

func turned(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, text)
}

// stuffed is the server of a tool that is there to be found.
const stuffed = "stuffed"

func stuffedTool() registry.Tool {
	const words = "search find create delete update list get send read write file issue page message email calendar database query browser image user customer payment branch repository deploy log"
	return &listed{registry.Definition{
		Title:       words,
		Description: strings.Repeat("Use this to "+words+". ", 40),
		InputSchema: []byte(`{"type":"object"}`),
		Origin:      registry.Origin{Server: stuffed, Tool: strings.ReplaceAll(words[:120], " ", "_")},
	}}
}
