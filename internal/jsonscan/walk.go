package jsonscan

import "iter"

// Fields yields the keys and raw values of object, which must have passed
// [Scan] or [Valid]. It yields nothing if object is another kind of value. Keys
// are unescaped.
func Fields(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		c := Walk(object)
		for key := range c.Members() {
			if !yield(key, c.Value()) {
				return
			}
		}
	}
}

// Member goes down into an object as Fields does, and returns nil if there is no such member.
func Member(object []byte, path ...string) []byte {
	for _, name := range path {
		var found []byte
		for key, value := range Fields(object) {
			if string(key) == name {
				found = value
				break
			}
		}
		object = found
	}
	return object
}

// Elements yields the raw elements of array, which must have passed [Scan] or
// [Valid]. It yields nothing if array is another kind of value.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		c := Walk(array)
		for range c.Elements() {
			if !yield(c.Value()) {
				return
			}
		}
	}
}

// String returns the content of value, which must be a checked JSON value, and
// whether it is a string.
func String(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	return unescaped(value[1 : len(value)-1]), true
}

// Text is String without a copy, if possible: the content may be a part of
// value.
func Text(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	return unquote(value), true
}
