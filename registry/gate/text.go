package gate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/textguard"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// text finds what a text hides and urges.
func (found *findings) text(path []byte, text string) {
	if len(text) > maxDescription {
		found.add(tokenTextTooLong, Block, string(path), text, 0, 0, fmt.Sprintf("it has %d bytes, %d are allowed", len(text), maxDescription))
	}
	found.hidden(path, text)
	found.urges(path, text)
}

// Text returns what is seen in a text that a server says of something else than a tool, such as
// a resource: what it hides and, in one that is meant to be read, what it urges a model to do.
// field says where it stands.
func Text(field, text string, read bool) []Finding {
	found := &findings{}
	found.hidden([]byte(field), text)
	if read {
		found.urges([]byte(field), text[:min(len(text), maxDescription)])
	}
	return found.list
}

func (found *findings) urges(path []byte, text string) {
	if len(text) < minUrge {
		return
	}
	if urge, ok := textguard.Urging(text); ok {
		severity := Warn
		if urge.Mild {
			severity = Note
		}
		found.add(tokenInstructionLikeText, severity, string(path), text, urge.Start, urge.End, "it "+urge.What)
	}
	if start, end, times := repeated(text); times >= minRepeats {
		found.add(tokenStuffed, Warn, string(path), text, start, end, fmt.Sprintf("it says the same %d times", times))
	}
	if start, end, decoded, ok := textguard.Encoded(text); ok {
		found.add(tokenEncodedPayload, Warn, string(path), decoded, 0, len(decoded),
			fmt.Sprintf("what is encoded from byte %d to %d speaks to the model", start, end))
	}
}

// minUrge is the length from which a text can urge something.
const minUrge = 6

// A sentence of so many bytes that stands so often in a text is there to be found.
const (
	minRepeats  = 3
	minSentence = 24
)

// repeated returns where the sentence is that stands most often in a text, and how often.
func repeated(text string) (start, end, times int) {
	if len(text) < minRepeats*minSentence {
		return 0, 0, 0
	}
	type place struct{ start, end, times int }
	var most place
	seen := map[string]place{}
	for at := 0; at < len(text); {
		length := cmp.Or(strings.IndexAny(text[at:], ".!?;\n")+1, len(text)-at)
		sentence := strings.Trim(text[at:at+length], " \t\r\n.!?;-*")
		if len(sentence) >= minSentence && !strings.ContainsAny(sentence, "{}\"`") { // examples are alike
			p, again := seen[sentence]
			if !again {
				p = place{at, at + length, 0}
			}
			p.times++
			if seen[sentence] = p; p.times > most.times {
				most = p
			}
		}
		at += length
	}
	return most.start, most.end, most.times
}

// hidden finds the characters that people do not see, or that were lost.
func (found *findings) hidden(path []byte, text string) {
	if at := strings.Index(text, "\ufffd"); at >= 0 && utf8.ValidString(text) {
		found.add(tokenBrokenText, Note, string(path), text, at, at+1, "a character of it could not be read")
	}
	for _, s := range textguard.Hidden(text) {
		token, severity, detail := judge(s)
		end := s.Start + utf8.RuneLen(s.First)
		if s.Kind == textguard.Tag {
			if said := textguard.TagText(text[s.Start:]); said != "" {
				found.add(token, severity, string(path), said, 0, len(said), detail+"; it spells what is quoted")
				continue
			}
		}
		found.add(token, severity, string(path), text, s.Start, max(end, s.Start+1), detail)
	}
}

// judge says what is to be thought of hidden characters.
func judge(s textguard.Sight) (string, Severity, string) {
	seen := fmt.Sprintf("%d characters such as U+%04X", s.Count, s.First)
	if s.Count == 1 {
		seen = fmt.Sprintf("the character U+%04X", s.First)
	}
	switch s.Kind {
	case textguard.Escape:
		return tokenANSIEscape, Block, "a terminal would obey " + seen
	case textguard.Control:
		if s.First == '\r' {
			return tokenControlCharacters, Block, "a terminal covers what stands before a carriage return without a line feed: " + seen
		}
		return tokenControlCharacters, Block, seen + " of control"
	case textguard.LateC1:
		return tokenControlCharacters, Warn, seen + " of control, of a broken encoding perhaps"
	case textguard.Tag:
		return tokenTagCharacters, Block, "models can read what people cannot see: " + seen
	case textguard.Direction:
		return tokenBidiCharacters, Block, "it can read as another text: " + seen
	}
	if s.Smuggles {
		return tokenHiddenCharacters, Block, "people cannot see " + seen + ", and a message fits in"
	}
	return tokenHiddenCharacters, Warn, "people cannot see " + seen
}

// texts goes through all that a server says of a tool, each byte once.
type texts struct {
	// visit is shown each text and where it is, as a JSON pointer that is only valid
	// during the call, and cut off if it is long. key says that the text is the name
	// of a member there.
	visit func(path []byte, text string, key bool)

	path []byte
}

// outside visits the texts beside the name and the schemas.
func (t *texts) outside(tool *ledger.Tool) {
	t.text("/title", tool.Title)
	t.text("/description", tool.Description)
	if jsonscan.Valid(tool.Annotations) == nil {
		t.document("/annotations", tool.Annotations)
	} else {
		t.text("/annotations", string(tool.Annotations))
	}
}

func (t *texts) text(field, text string) {
	if text != "" {
		t.visit([]byte(field), text, false)
	}
}

// document visits all keys and strings of JSON that is known to be valid.
func (t *texts) document(field string, raw json.RawMessage) {
	t.path = append(t.path[:0], field...)
	c := jsonscan.Walk(raw)
	t.value(&c)
}

func (t *texts) value(c *jsonscan.Cursor) {
	switch c.Kind() {
	case '{':
		for key := range c.Members() {
			length := len(t.path)
			t.path = appendToken(t.path, key)
			t.visit(t.path, string(key), true)
			t.value(c)
			t.path = t.path[:length]
		}
	case '[':
		for i := range c.Elements() {
			length := len(t.path)
			if len(t.path) < maxPath {
				t.path = strconv.AppendInt(append(t.path, '/'), int64(i), 10)
			}
			t.value(c)
			t.path = t.path[:length]
		}
	case '"':
		if text, ok := jsonscan.String(c.Value()); ok && text != "" {
			t.visit(t.path, text, false)
		}
	default:
		c.Skip()
	}
}

// maxPath is where a JSON pointer is cut off. Long names of members would make the
// places of the texts below them as large as the square of a schema.
const maxPath = maxField + 16

// appendToken appends a token to a JSON pointer.
func appendToken(path, token []byte) []byte {
	if len(path) >= maxPath {
		return path
	}
	token = token[:min(len(token), maxPath)]
	if bytes.ContainsAny(token, "~/") {
		token = []byte(strings.NewReplacer("~", "~0", "/", "~1").Replace(string(token)))
	}
	return append(append(path, '/'), token...)
}
