package toolset

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/registry"
)

// EstimateTokens returns how many tokens the definition of a tool takes, as [Finder.Toolset] estimates
// it: of its name, description and input schema, in JSON. It takes about a microsecond for each 100 bytes.
func EstimateTokens(tool *registry.Definition) int {
	if tool == nil {
		return 0
	}
	return estimateTokensIn(appendDefinition(nil, tool))
}

// appendDefinition appends what counts of a definition: the part that providers
// give to models, as compact JSON.
func appendDefinition(text []byte, def *registry.Definition) []byte {
	text = canonjson.AppendString(append(text, `{"name":`...), def.Name)
	text = canonjson.AppendString(append(text, `,"description":`...), def.Description)
	compact := bytes.NewBuffer(append(text, `,"inputSchema":`...))
	if json.Compact(compact, def.InputSchema) != nil {
		compact.Write(def.InputSchema) // cannot be: it was checked
	}
	compact.WriteByte('}')
	return compact.Bytes()
}

// The cost of pieces of a text, in hundredths of a token. The numbers fit the counts of
// o200k_base, the encoding of OpenAI's models, for the definitions of real servers;
// where these have nothing to say, as of other scripts, they are rather too large.
const (
	tokenWord       = 100 // a word of up to tokenShort letters, with the blank before it
	tokenShort      = 7
	tokenLetter     = 4   // each further letter
	tokenLong       = 16  // letters, after which a word is hardly one
	tokenGibberish  = 30  // each letter after that
	tokenGlued      = 40  // another character than a blank before a word
	tokenCapital    = 20  // each capital after the third in a row
	tokenDigits     = 95  // up to three digits
	tokenMarks      = 112 // up to tokenMarksRun marks, as between members of JSON
	tokenMarksRun   = 8
	tokenMark       = 15  // each further mark
	tokenInvalid    = 200 // a byte that is no UTF-8
	hundredthsToken = 100
)

// tokenScript returns what a character takes that is not ASCII, by blocks of Unicode.
func tokenScript(r rune) int {
	switch {
	case r < 0x0250: // Latin
		return 50
	case r < 0x0900: // Greek, Cyrillic, Hebrew, Arabic
		return 32
	case r < 0x0f00: // of India, Thai
		return 40
	case r < 0x10a0: // Burmese
		return 70
	case r < 0x1e00: // Ethiopic, and others that are rare
		return 200
	case r < 0x1f00: // Latin, as of Vietnamese
		return 60
	case r < 0x3000: // symbols
		return 100
	case r < 0x3100: // of Japan
		return 75
	case r < 0xa000: // Chinese
		return 95
	case 0xac00 <= r && r < 0xd800: // Korean
		return 65
	case r < 0x10000:
		return 150
	}
	return 300 // emojis, and others
}

// estimateTokensIn returns about how many tokens a text takes: the pieces are counted
// that a tokenizer begins with. It allocates nothing.
func estimateTokensIn(text []byte) int {
	total := 0
	for at := 0; at < len(text); {
		end, cost := tokenPiece(text, at)
		total += cost
		at = end
	}
	return (total + hundredthsToken - 1) / hundredthsToken
}

// tokenPiece returns where the piece ends that begins at a place, and what it takes.
func tokenPiece(text []byte, at int) (end, cost int) {
	c, next := text[at], byte(' ')
	if at+1 < len(text) {
		next = text[at+1]
	}
	switch {
	case isLetter(c):
		return tokenWordFrom(text, at, 0)
	case isDigit(c):
		for end = at; end < len(text) && end < at+3 && isDigit(text[end]); end++ {
		}
		return end, tokenDigits
	case c >= utf8.RuneSelf:
		return tokenRune(text, at)
	case c == ' ' && isLetter(next):
		return tokenWordFrom(text, at+1, 0)
	case c != '\n' && c != '\r' && isLetter(next):
		return tokenWordFrom(text, at+1, tokenGlued)
	case isSpace(c) && !isMark(next):
		for end = at + 1; end < len(text) && isSpace(text[end]); end++ {
		}
		return end, tokenMarks
	}
	for end = at + 1; end < len(text) && isMark(text[end]); end++ {
	}
	return end, tokenMarks + tokenMark*max(0, end-at-tokenMarksRun)
}

// tokenWordFrom returns where a word ends, and what it takes. A capital begins a new
// one after a small letter.
func tokenWordFrom(text []byte, at, cost int) (int, int) {
	end, capitals := at, 0
	for end < len(text) && isCapital(text[end]) {
		end++
		capitals++
	}
	for end < len(text) && isLetter(text[end]) && !isCapital(text[end]) {
		end++
	}
	n := end - at
	cost += tokenWord + tokenLetter*max(0, n-tokenShort) + tokenGibberish*max(0, n-tokenLong)
	if capitals == n {
		cost += tokenCapital * max(0, n-3)
	}
	return end, cost
}

// tokenRune returns where a character ends that is not ASCII, and what it takes.
func tokenRune(text []byte, at int) (end, cost int) {
	r, size := utf8.DecodeRune(text[at:])
	if end = at + size; r == utf8.RuneError && size == 1 {
		return end, tokenInvalid
	}
	return end, tokenScript(r)
}

func isCapital(c byte) bool { return 'A' <= c && c <= 'Z' }

func isLetter(c byte) bool { return isCapital(c) || 'a' <= c && c <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func isMark(c byte) bool { return c < utf8.RuneSelf && !isLetter(c) && !isDigit(c) && !isSpace(c) }
