package gate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/internal/textguard"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// checkName holds a tool's name at its server against what the protocol says of
// names: 1 to 128 of A-Z a-z 0-9 _ - and the point.
func (found *findings) name(name string) {
	const field = "/name"
	switch {
	case name == "":
		found.add(tokenInvalidName, Block, field, "", 0, 0, "it is empty")
		return
	case !utf8.ValidString(name):
		found.add(tokenInvalidName, Block, field, name, 0, len(name), "it is not UTF-8")
		return
	}
	if len(name) > maxToolName {
		found.add(tokenNameTooLong, Block, field, name, 0, 0, fmt.Sprintf("it has %d bytes, %d are allowed", len(name), maxToolName))
	}
	if at := strings.IndexFunc(name, isOdd); at >= 0 {
		severity := Note
		if strings.IndexFunc(name[at:], func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			severity = Warn
		}
		odd, n := utf8.DecodeRuneInString(name[at:])
		found.add(tokenInvalidName, severity, field, name, at, at+n, fmt.Sprintf("names should do without the character U+%04X", odd))
	}
	found.text([]byte(field), name)
}

func isOdd(r rune) bool {
	return r >= utf8.RuneSelf || r != '_' && r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// Lookalikes returns a finding for each tool of a server whose name looks like that of
// another one, listed before it.
func Lookalikes(tools []*ledger.Tool) map[*ledger.Tool]Finding {
	confusable := map[*ledger.Tool]Finding{}
	first := make(map[string]*ledger.Tool, len(tools))
	for _, tool := range tools {
		if tool == nil {
			continue
		}
		look := textguard.Skeleton(tool.Name)
		other, taken := first[look]
		switch {
		case !taken:
			first[look] = tool
		case other.Name != tool.Name:
			confusable[tool] = Finding{tokenConfusableName, Warn, "/name", excerpt(tool.Name, 0, len(tool.Name)), "it looks like the tool " + plain.Quote(other.Name)}
		}
	}
	return confusable
}

// References returns what is to be said of a tool of a server that speaks of other servers'.
// other returns the server, other than the tool's own, that has the name word or
// a tool of the name word.
//
// Only words count that are formed like names; those that the tool has for its own
// properties and choices do not, unless no language has such words.
func References(server string, tool *ledger.Tool, other func(word string) (server string, ok bool)) []Finding {
	if tool == nil || other == nil {
		return nil
	}
	found := &findings{}
	own := map[string]bool{tool.Name: true, server: true}
	type place struct{ path, text string }
	var said []place
	t := texts{visit: func(path []byte, text string, key bool) {
		switch {
		case key:
			own[text] = true
		case strings.ContainsAny(text, " \n"):
			said = append(said, place{string(path), text})
		case len(text) <= maxWord:
			own[text] = true
			if textguard.IsName(text) {
				said = append(said, place{string(path), text})
			}
		}
	}}
	t.outside(tool)
	for _, s := range schemasOf(tool) {
		if len(s.raw) <= schemagate.MaxBytes && jsonscan.Valid(s.raw) == nil {
			t.document(s.field, s.raw)
		}
	}

	done := map[string]bool{}
	for _, p := range said {
		end := 0 // of the last one that was found
		for m := range textguard.Mentions(p.text) {
			if m.Start < end || done[m.Word] || own[m.Word] && !textguard.IsName(m.Word) || m.Word == tool.Name || m.Word == server {
				continue
			}
			named, ok := other(m.Word)
			if lower := strings.ToLower(m.Word); !ok && m.Loose && lower != m.Word {
				named, ok = other(lower)
			}
			if ok {
				done[m.Word], end = true, m.End
				found.add(tokenCrossServerReference, Warn, p.path, p.text, m.Start, m.End, "it speaks of the server "+plain.Quote(named)+" or a tool of it")
			}
		}
	}
	return Merge(found.list)
}

// maxWord is how long a word can be that is a name, in bytes.
const maxWord = 256
