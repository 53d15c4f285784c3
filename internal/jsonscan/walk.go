package jsonscan

import "iter"

// Fields yields the keys and raw values of object, which must have passed
// [Scan] or [Valid]. It yields nothing if object is another kind of value.
func Fields(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		s := scanner{data: object}
		s.space()
		if !s.peek('{') {
			return
		}
		s.pos++
		for {
			s.space()
			if !s.peek('"') {
				return
			}
			key, err := s.key()
			if err != nil {
				return
			}
			s.space()
			s.pos++ // the colon
			s.space()
			value, ok := s.slice()
			if !ok || !yield(string(key), value) || !s.next() {
				return
			}
		}
	}
}

// Elements yields the raw elements of array, which must have passed [Scan] or
// [Valid]. It yields nothing if array is another kind of value.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		s := scanner{data: array}
		s.space()
		if !s.peek('[') {
			return
		}
		s.pos++
		for {
			s.space()
			value, ok := s.slice()
			if !ok || !yield(value) || !s.next() {
				return
			}
		}
	}
}

// slice skips one value and returns it.
func (s *scanner) slice() ([]byte, bool) {
	start := s.pos
	if s.skip() != nil {
		return nil, false
	}
	return s.data[start:s.pos:s.pos], true
}

// skip passes over one value of checked input without checking it again.
func (s *scanner) skip() error {
	if s.pos >= len(s.data) {
		return s.fail("unexpected end")
	}
	if c := s.data[s.pos]; c != '{' && c != '[' {
		return s.value(0)
	}
	depth := 0
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				s.pos++
				return nil
			}
		case '"':
			if err := s.string(); err != nil {
				return err
			}
			continue
		}
		s.pos++
	}
	return s.fail("unexpected end")
}

// next moves behind a comma and reports whether there was one.
func (s *scanner) next() bool {
	s.space()
	if !s.peek(',') {
		return false
	}
	s.pos++
	return true
}

// String returns the content of value, which must be a checked JSON value, and
// whether it is a string.
func String(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	return string(unquote(value)), true
}
