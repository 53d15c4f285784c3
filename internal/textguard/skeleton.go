package textguard

import "strings"

// Skeleton returns what is left of a name when all is taken away that the eye, or a
// program that cleans names, does not tell apart: case, the alphabet of letters that are
// drawn alike, 0 and o, 1 and l and i, the kind of separator, and what is unseen. Names
// with the same skeleton look alike.
func Skeleton(name string) string {
	var out strings.Builder
	out.Grow(len(name))
	for _, r := range name {
		c := fold(r)
		switch {
		case c == '0':
			c = 'o'
		case c == '1' || c == 'i':
			c = 'l'
		case c != 0:
		case isJoint(r):
			continue
		case r == '-' || r == '.' || r == '/' || r == ':' || r == ' ' || r == '_':
			c = '_'
		}
		if c != 0 {
			out.WriteByte(c)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}
