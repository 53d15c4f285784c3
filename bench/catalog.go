package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	toolCount = 1000
	fewTools  = 2       // of a server that is connected to and not listed
	bigSize   = 100_000 // bytes of the text that the tool big answers with
)

// A tool is one entry of the neutral server's list.
type tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// catalog returns the result of tools/list: echo, big, and as many tools of the
// size that servers commonly have as make up the count.
func catalog(count int) ([]byte, error) {
	list := struct {
		Tools []tool `json:"tools"`
	}{[]tool{
		{"echo", "Echo", "Answers with the text that it is given.", json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
		{"big", "Big", "Answers with a long text.", json.RawMessage(`{"type":"object"}`)},
	}}
	for i := len(list.Tools); i < count; i++ {
		list.Tools = append(list.Tools, filler(i))
	}
	return json.Marshal(list)
}

// filler returns a tool with a description of 150 bytes and a schema of 400.
func filler(i int) tool {
	verbs := []string{"create", "list", "update", "delete", "search"}
	nouns := []string{"issue", "commit", "document", "invoice", "customer", "deployment", "message"}
	verb, noun := verbs[i%len(verbs)], nouns[i%len(nouns)]
	return tool{
		Name:  fmt.Sprintf("%s_%s_%03d", verb, noun, i),
		Title: fmt.Sprintf("%s %s", verb, noun),
		Description: fmt.Sprintf("Finds each %s that matches the \"query\" and does %s with it. "+
			"Returns at most the given number of them, in order of their last change.", noun, verb),
		InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
			`"query":{"type":"string","description":"Words to look for in the %s"},`+
			`"limit":{"type":"integer","maximum":100,"description":"How many to return"},`+
			`"state":{"type":"string","enum":["open","closed","all"],"description":"Which to consider"},`+
			`"labels":{"type":"array","items":{"type":"string"},"description":"Only those with all these"}},`+
			`"required":["query"],"additionalProperties":false}`, noun)),
	}
}

// bigText returns the text that the tool big answers with. It looks like source
// text: of 80 characters one is a newline and two are quotes.
func bigText() string {
	var text strings.Builder
	for i := 0; text.Len() < bigSize; i++ {
		fmt.Fprintf(&text, "\tcase %6d: return fmt.Errorf(\"the server answered with %08x\", code, state)\n", i, i*7919)
	}
	return text.String()[:bigSize]
}
