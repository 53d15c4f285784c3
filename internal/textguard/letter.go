package textguard

import (
	_ "embed" // the table of letters
	"sync"
	"unicode/utf8"
)

// fold returns the Latin letter or digit, in lower case, that a character looks
// like; 0 if there is none.
func fold(r rune) byte {
	switch {
	case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
		return byte(r)
	case r >= 'A' && r <= 'Z':
		return byte(r) + 'a' - 'A'
	case r < utf8.RuneSelf, r >= 0x2000 && r < 0x2070, r >= 0x2500 && r < 0xa700: // no letter of an alphabet
		return 0
	case r >= 0xff21 && r <= 0xff3a: // full width
		return byte(r-0xff21) + 'a'
	case r >= 0xff41 && r <= 0xff5a:
		return byte(r-0xff41) + 'a'
	case r >= 0xff10 && r <= 0xff19:
		return byte(r-0xff10) + '0'
	case r >= 0x1d400 && r <= 0x1d6a3: // letters of mathematics: bold, script and so on
		return byte((r-0x1d400)%26) + 'a'
	case r >= 0x1d7ce && r <= 0x1d7ff:
		return byte((r-0x1d7ce)%10) + '0'
	case r >= 0x249c && r <= 0x24b5: // in parentheses
		return byte(r-0x249c) + 'a'
	case r >= 0x24b6 && r <= 0x24e9: // in circles
		return byte((r-0x24b6)%26) + 'a'
	case r >= 0x1f130 && r <= 0x1f149, r >= 0x1f150 && r <= 0x1f169, r >= 0x1f170 && r <= 0x1f189: // in squares and circles
		return byte((r-0x1f130)%32) + 'a'
	case r >= 0x1f1e6 && r <= 0x1f1ff: // those that make flags
		return byte(r-0x1f1e6) + 'a'
	}
	return lookalike(r)
}

// unaccented returns what fold does, and the letter without its accent.
func unaccented(r rune) byte {
	if r >= 0xc0 && r < 0x180 || r >= 0x1e00 && r < 0x1f00 {
		return Unaccented(r)
	}
	return fold(r)
}

// Unaccented returns a Latin letter with an accent in lower case without it; 0 for all else.
func Unaccented(r rune) byte {
	c := byte('.')
	switch {
	case r >= 0xc0 && r < 0x180:
		c = accents[r-0xc0]
	case r >= 0x1e00 && r < 0x1f00:
		c = moreAccents[r-0x1e00]
	}
	if c == '.' {
		return 0
	}
	return c
}

// isAccent reports whether a character is an accent of the letter before it.
func isAccent(r rune) bool { return r >= 0x300 && r < 0x370 }

// The letters with accents from U+00C0 and U+1E00 on, without them. A point stands
// for what is none.
const (
	accents = "aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.y" +
		"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkkklllllll" +
		"lllnnnnnnnnnoooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"
	moreAccents = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm" +
		"mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv" +
		"wwwwwwwwwwxxxxyyzzzzzzhtwya.ss..aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee" +
		"eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......"
)

// lookalike folds the letters of other alphabets that are drawn like Latin ones.
func lookalike(r rune) byte { return lookalikes()[r] }

//go:embed lookalikes.txt
var lookalikesText string

var lookalikes = sync.OnceValue(func() map[rune]byte {
	latin := map[rune]byte{}
	for line := range rowsOf(lookalikesText) {
		for _, r := range line[1:] {
			latin[r] = line[0]
		}
	}
	return latin
})
