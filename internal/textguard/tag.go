package textguard

import (
	"slices"
	"strings"
)

// maxTag is the length of the longest tag that is known, with its attributes.
const maxTag = 64

// tag finds the marks by which a text pretends to come from another author: those
// that separate the turns of a conversation, and pairs of tags such as
// <IMPORTANT>.
func tag(text string) (Urge, bool) {
	var unclosed []string
	for at := 0; ; at++ {
		next := strings.IndexAny(text[at:], "<[")
		if next < 0 {
			return Urge{}, false
		}
		at += next
		if end, ok := turn(text[at:]); ok {
			return Urge{What: "pretends to be a turn of the conversation", Start: at, End: at + end}, true
		}
		name, end := opened(text[at:])
		if end == 0 || slices.Contains(unclosed, name) {
			continue
		}
		if closes(text[at+end:], name) {
			return Urge{What: "wraps instructions in a tag that looks official", Start: at, End: at + end}, true
		}
		unclosed = append(unclosed, name) // and so are all that follow
	}
}

// turn reports whether text begins with what separates the turns of a
// conversation for some models.
func turn(text string) (end int, ok bool) {
	for _, mark := range []string{"<|im_start|>", "<|im_end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|endoftext|>", "<<sys>>", "[inst]", "[/inst]"} {
		if len(text) >= len(mark) && strings.EqualFold(text[:len(mark)], mark) {
			return len(mark), true
		}
	}
	return 0, false
}

// opened returns the name of the tag at the beginning of text, in lower case, and
// its length; nothing if it is none of those that look official.
func opened(text string) (name string, end int) {
	if text[0] != '<' {
		return "", 0
	}
	end = strings.IndexByte(text[:min(len(text), maxTag)], '>')
	if end < 0 {
		return "", 0
	}
	name, _, _ = strings.Cut(strings.TrimSpace(text[1:end]), " ") // without attributes
	name = strings.ToLower(name)
	switch name {
	case "important", "system", "assistant", "instruction", "instructions", "hidden", "admin", "critical", "override",
		"system_prompt", "systemprompt", "system-prompt", "secret_instructions", "system_instructions", "system-reminder":
		return name, end + 1
	}
	return "", 0
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
