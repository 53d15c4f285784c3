package bm25

// unaccented returns a letter in lower case without its accent, if it is a Latin one
// with an accent; else itself.
func unaccented(r rune) rune {
	c := byte('.')
	switch {
	case r >= 0xc0 && r < 0x180:
		c = latin[r-0xc0]
	case r >= 0x1e00 && r < 0x1f00:
		c = moreLatin[r-0x1e00]
	}
	if c == '.' {
		return r
	}
	return rune(c)
}

// The letters from U+00C0 and U+1E00 on, without their accents. A point stands for
// what is none.
const (
	latin = "aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.y" +
		"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkkklllllll" +
		"lllnnnnnnnnnoooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"
	moreLatin = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm" +
		"mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv" +
		"wwwwwwwwwwxxxxyyzzzzzzhtwya.ss..aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee" +
		"eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......"
)
