package rest

import (
	"bytes"
	"html"
	"slices"
	"strconv"
)

// A decoding reads texts in which any character may be escaped, and which one is is for
// whoever wrote the text to choose.
type decoding struct {
	mark byte // begins an escape
	// escape returns what the escape at the start of a text stands for, and its length; 0
	// if there is none.
	escape func(text []byte) (value []byte, length int)
}

func decodings() []decoding { return []decoding{{'%', percentEscape}, {'&', htmlEscape}} }

// percentEscape reads %2F or %2f.
func percentEscape(text []byte) ([]byte, int) {
	if len(text) < 3 {
		return nil, 0
	}
	c, err := strconv.ParseUint(string(text[1:3]), 16, 8)
	if err != nil {
		return nil, 0
	}
	return []byte{byte(c)}, 3
}

// htmlEscape reads &amp;, &#38; or &#x26;.
func htmlEscape(text []byte) ([]byte, int) {
	const longest = 32 // bytes of a name
	end := bytes.IndexByte(text[:min(len(text), longest)], ';')
	if end < 0 {
		return nil, 0
	}
	escape := string(text[:end+1])
	value := html.UnescapeString(escape)
	if value == escape {
		return nil, 0
	}
	return []byte(value), end + 1
}

// read returns a text with its escapes replaced; nil if there are none. With places it
// returns where in the text each of its bytes begins, too, and where the text ends.
func (d *decoding) read(text []byte, places bool) (plain []byte, at []int) {
	escaped := false
	for i := 0; i < len(text); {
		value, length := text[i:i+1], 1
		if text[i] == d.mark {
			if v, n := d.escape(text[i:]); n > 0 {
				value, length, escaped = v, n, true
			}
		}
		plain = append(plain, value...)
		for range value {
			if places {
				at = append(at, i)
			}
		}
		i += length
	}
	if !escaped {
		return nil, nil
	}
	return plain, append(at, len(text))
}

// without takes secrets out of a text in which characters of them are escaped. A text that
// has none is returned as it is.
func (d *decoding) without(text []byte, secrets []string) []byte {
	if bytes.IndexByte(text, d.mark) < 0 {
		return text
	}
	plain, _ := d.read(text, false)
	if !slices.ContainsFunc(secrets, func(s string) bool { return bytes.Contains(plain, []byte(s)) }) {
		return text
	}
	plain, at := d.read(text, true)
	var clean []byte
	done := 0 // up to where text is in it
	for i := 0; i < len(plain); {
		length := 0
		for _, secret := range secrets {
			if len(secret) > length && bytes.HasPrefix(plain[i:], []byte(secret)) {
				length = len(secret)
			}
		}
		if length == 0 {
			i++
			continue
		}
		clean = append(append(clean, text[done:at[i]]...), hiddenMark...)
		i += length
		done = at[i]
	}
	return append(clean, text[done:]...)
}
