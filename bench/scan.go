package main

import "bytes"

// field returns the value of a key of a JSON object, as it stands there, or
// nil. It trusts that the object is well formed and that its keys are written
// without escapes, as all clients here write them: what the server spends on a
// request is part of every figure.
func field(object []byte, key string) []byte {
	i := space(object, 0)
	if i == len(object) || object[i] != '{' {
		return nil
	}
	for i++; ; i++ {
		i = space(object, i)
		if i == len(object) || object[i] != '"' {
			return nil
		}
		start := i
		i = skip(object, i)
		if i-start < 2 {
			return nil
		}
		name := object[start+1 : i-1]
		i = space(object, space(object, i)+1) // over the colon
		start = i
		i = skip(object, i)
		if string(name) == key {
			return object[start:i]
		}
		if i = space(object, i); i == len(object) || object[i] != ',' {
			return nil
		}
	}
}

// space returns where the white space from i on ends.
func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return min(i, len(text))
}

// skip returns where the value that begins at i ends.
func skip(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = skipString(text, i+1)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // of what encloses a number or a literal
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(text)
}

// skipString returns where the string ends whose first character is at i.
func skipString(text []byte, i int) int {
	for {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		escapes := 0
		for j := i + n - 1; j >= i && text[j] == '\\'; j-- {
			escapes++
		}
		i += n + 1
		if escapes%2 == 0 {
			return i
		}
	}
}
