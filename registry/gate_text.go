package registry

import (
	"fmt"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/textguard"
)

// checkText finds what a text hides and urges.
func (g *gate) checkText(found *findings, path []byte, text string) {
	if len(text) > g.opts.MaxDescription {
		found.add(TokenTextTooLong, Block, string(path), text, 0, 0, fmt.Sprintf("it has %d bytes, %d are allowed", len(text), g.opts.MaxDescription))
	}
	g.checkHidden(found, path, text)
	if len(text) < minUrge {
		return
	}
	if urge, ok := g.guard.Urging(text); ok {
		severity := Warn
		if urge.Mild {
			severity = Note
		}
		found.add(TokenInstructionLikeText, severity, string(path), text, urge.Start, urge.End, "it "+urge.What)
	}
	if start, end, decoded, ok := g.guard.Encoded(text); ok {
		found.add(TokenEncodedPayload, Warn, string(path), decoded, 0, len(decoded),
			fmt.Sprintf("what is encoded from byte %d to %d speaks to the model", start, end))
	}
}

// minUrge is the length from which a text can urge something.
const minUrge = 6

func (g *gate) checkHidden(found *findings, path []byte, text string) {
	for _, s := range textguard.Hidden(text) {
		token, severity, detail := g.judge(s)
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
func (g *gate) judge(s textguard.Sight) (Token, Severity, string) {
	seen := fmt.Sprintf("%d characters such as U+%04X", s.Count, s.First)
	if s.Count == 1 {
		seen = fmt.Sprintf("the character U+%04X", s.First)
	}
	switch s.Kind {
	case textguard.Escape:
		return TokenANSIEscape, Block, "a terminal would obey " + seen
	case textguard.Control:
		if s.First == '\r' {
			return TokenControlCharacters, Block, "a terminal covers what stands before a carriage return without a line feed: " + seen
		}
		return TokenControlCharacters, Block, seen + " of control"
	case textguard.LateC1:
		return TokenControlCharacters, Warn, seen + " of control, of a broken encoding perhaps"
	case textguard.Tag:
		return TokenTagCharacters, Block, "models can read what people cannot see: " + seen
	case textguard.Direction:
		return TokenBidiCharacters, Block, "it can read as another text: " + seen
	}
	if s.Smuggles {
		return TokenHiddenCharacters, Block, "people cannot see " + seen + ", and a message fits in"
	}
	return TokenHiddenCharacters, Warn, "people cannot see " + seen
}
