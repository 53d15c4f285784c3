// Package glob matches names with patterns.
//
// A pattern fits a whole name, and a name is a row of Unicode characters:
//
//   - any characters, or none
//     ?       one character
//     [a-c_]  one of these characters
//     [!a-c]  one character that is none of these
//     {a,b*}  one of these patterns
//     \*      the character *, as of any other
//
// All other characters stand for themselves. There is no pattern that fits
// nothing: what would be one, such as [], is an error, and so is what looks like a
// slip, such as a bracket that is not closed or an alternative that is empty.
//
// The time that a match takes grows with the product of the lengths of pattern and
// name, and never faster.
package glob
