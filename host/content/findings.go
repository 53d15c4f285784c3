package content

import (
	"fmt"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/textguard"
	"github.com/mcpbelt/mcpbelt/registry/gate"
)

const (
	// maxListFindings bounds the findings of one item.
	maxListFindings = 8
	// maxEvidence bounds what a finding quotes, in bytes.
	maxEvidence = 120
	// maxUrging bounds what is read of a text to see whether it urges something.
	maxUrging = 16 << 10
)

// An itemGate looks at the texts of one item of a list.
type itemGate struct {
	found []gate.Finding
}

// text looks at one text. Urges are looked for in those that are meant to be read.
func (g *itemGate) text(field, text string, read bool) {
	for _, s := range textguard.Hidden(text) {
		token, severity := hiddenToken(s)
		end := min(len(text), s.Start+max(utf8.RuneLen(s.First), 1))
		evidence := text[s.Start:end]
		if s.Kind == textguard.Tag {
			evidence = textguard.TagText(text[s.Start:])
		}
		g.add(token, severity, field, evidence, fmt.Sprintf("it hides %d characters such as U+%04X", s.Count, s.First))
	}
	if !read {
		return
	}
	text = text[:min(len(text), maxUrging)]
	if urge, ok := textguard.Urging(text); ok {
		severity := gate.Warn
		if urge.Mild {
			severity = gate.Note
		}
		g.add(gate.TokenInstructionLikeText, severity, field, text[urge.Start:urge.End], "it "+urge.What)
	}
	if _, _, decoded, ok := textguard.Encoded(text); ok {
		g.add(gate.TokenEncodedPayload, gate.Warn, field, decoded, "what is encoded in it speaks to the model")
	}
}

func (g *itemGate) add(token gate.Token, severity gate.Severity, field, evidence, detail string) {
	if len(g.found) == maxListFindings {
		return
	}
	g.found = append(g.found, gate.Finding{
		Token: token, Severity: severity, Field: field,
		Evidence: plain.Line(evidence[:min(len(evidence), maxEvidence)]), Detail: detail,
	})
}

// hiddenToken says what is to be thought of hidden characters, as the registry's
// gate does.
func hiddenToken(s textguard.Sight) (gate.Token, gate.Severity) {
	switch s.Kind {
	case textguard.Escape:
		return gate.TokenANSIEscape, gate.Block
	case textguard.Control:
		return gate.TokenControlCharacters, gate.Block
	case textguard.LateC1:
		return gate.TokenControlCharacters, gate.Warn
	case textguard.Tag:
		return gate.TokenTagCharacters, gate.Block
	case textguard.Direction:
		return gate.TokenBidiCharacters, gate.Block
	}
	if s.Smuggles {
		return gate.TokenHiddenCharacters, gate.Block
	}
	return gate.TokenHiddenCharacters, gate.Warn
}
