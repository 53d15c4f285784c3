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

// estimateTokensIn returns about how many tokens a text takes: the pieces are counted that a
// tokenizer begins with. The numbers, in hundredths of a token, fit the counts of o200k_base,
// the encoding of OpenAI's models, for the definitions of real servers.
func estimateTokensIn(text []byte) int {
	const (
		word, short, letter     = 100, 7, 4 // a word, and each letter after so many
		long, gibberish         = 16, 30    // each letter after so many, of what is hardly a word
		digits                  = 95        // up to three
		marks, marksRun, mark   = 112, 8, 15
		alphabet, script, emoji = 50, 95, 250 // a character of an alphabet, of another script, of none
	)
	total := 0
	for at := 0; at < len(text); {
		end := at + 1
		switch c := text[at]; {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(text[at:])
			end = at + size
			switch {
			case r < 0x0f00:
				total += alphabet
			case r < 0x10000:
				total += script
			default:
				total += emoji
			}
		case isLetter(c): // a capital begins a new word after a small letter
			for end < len(text) && isLetter(text[end]) && (!isCapital(text[end]) || isCapital(text[end-1])) {
				end++
			}
			n := end - at
			total += word + letter*max(0, n-short) + gibberish*max(0, n-long)
		case isDigit(c):
			for end < len(text) && end < at+3 && isDigit(text[end]) {
				end++
			}
			total += digits
		case c == ' ' && end < len(text) && isLetter(text[end]): // a part of the word
		default:
			for end < len(text) && text[end] < utf8.RuneSelf && !isLetter(text[end]) && !isDigit(text[end]) && (text[end] == ' ') == (c == ' ') {
				end++
			}
			if c == ' ' {
				total += marks
			} else {
				total += marks + mark*max(0, end-at-marksRun)
			}
		}
		at = end
	}
	return (total + 99) / 100
}

func isCapital(c byte) bool { return 'A' <= c && c <= 'Z' }

func isLetter(c byte) bool { return isCapital(c) || 'a' <= c && c <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
