package textguard

import (
	"regexp"
	"strings"
)

// marks are what separates the turns of a conversation for some models, and tags that look official, with their names.
var marks = regexp.MustCompile(`(?i)<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|<<sys>>|\[/?inst\]|` +
	`<\s*(important|system|assistant|instructions?|hidden|admin|critical|override|system_?prompt|system-prompt|(?:secret|system)_instructions|system-reminder)(?: [^>]{0,50})?\s*>`)

// tag finds the marks by which a text pretends to come from another author: those
// that separate the turns of a conversation, and pairs of tags such as
// <IMPORTANT>.
func tag(text string) (Urge, bool) {
	if !strings.ContainsAny(text, "<[") {
		return Urge{}, false
	}
	unclosed := map[string]bool{}
	for _, m := range marks.FindAllStringSubmatchIndex(text, -1) {
		urge := Urge{What: "pretends to be a turn of the conversation", Start: m[0], End: m[1]}
		if m[2] < 0 {
			return urge, true
		}
		name := strings.ToLower(text[m[2]:m[3]])
		if !unclosed[name] && closes(text[m[1]:], name) {
			urge.What = "wraps instructions in a tag that looks official"
			return urge, true
		}
		unclosed[name] = true // and so are all that follow
	}
	return Urge{}, false
}

// closes reports whether a tag of that name is closed somewhere in text.
func closes(text, name string) bool {
	for {
		at := strings.Index(text, "</")
		if at < 0 {
			return false
		}
		text = strings.TrimLeft(text[at+2:], " ")
		if len(text) >= len(name) && strings.EqualFold(text[:len(name)], name) {
			return true
		}
	}
}
