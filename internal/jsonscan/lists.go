package jsonscan

// ScanLists is [Scan] for a message that Scan refused: it also accepts one in
// which the elements of lists, the arrays that are members of the result, break the
// rules for keys, nesting, UTF-8 and halves of surrogate pairs, or have strings with
// control characters or wrong escapes. Where an element ends is certain all the same.
// Each element has to be checked with [Valid] before it is used. Ok reports whether the
// message is acceptable.
func ScanLists(data []byte) (m Message, ok bool) {
	if !wellFormed(data) {
		return Message{}, false
	}
	frame := newFrame(data)
	var result []byte
	for key := range frame.Members() {
		if string(key) == "result" {
			start := frame.Pos()
			frame.lists()
			result = frame.From(start)
		}
	}
	m, err := Scan(frame.rest())
	m.Result = result
	return m, err == nil
}

// ValidLists is [Valid] for a result that is accepted as ScanLists does it.
func ValidLists(result []byte) bool {
	if !wellFormed(result) {
		return false
	}
	frame := newFrame(result)
	frame.lists()
	return Valid(frame.rest()) == nil
}

// A frame is what is left of a value when elements of lists are replaced by
// zeros, which are never longer.
type frame struct {
	Cursor
	out  []byte
	done int // up to where data is in out
}

func newFrame(data []byte) *frame {
	return &frame{Cursor: Walk(data), out: make([]byte, 0, len(data))}
}

// lists replaces the elements of the arrays in the object at the cursor, and
// passes over it.
func (f *frame) lists() {
	if f.Kind() != '{' {
		f.Skip()
		return
	}
	for range f.Members() {
		for range f.Elements() {
			f.out = append(append(f.out, f.data[f.done:f.Pos()]...), '0')
			f.Skip()
			f.done = f.pos
		}
	}
}

// rest returns the frame.
func (f *frame) rest() []byte { return append(f.out, f.data[f.done:]...) }

// wellFormed reports whether data is one JSON value by the grammar alone, whatever is
// between the quotes of its strings but for keys. It takes a byte for each level of
// nesting, of which there may be any number.
func wellFormed(data []byte) bool {
	s := scanner{reader: reader{data: data}, halves: true}
	var open []byte // the brackets, innermost last
	for {
		s.space()
		if s.peek('{') || s.peek('[') {
			bracket := s.data[s.pos]
			s.pos++
			s.space()
			open = append(open, bracket)
			if !s.peek(closing(bracket)) {
				if bracket == '{' && !s.member() {
					return false
				}
				continue
			}
		} else if s.peek('"') {
			if !s.quoted() {
				return false
			}
		} else if s.value(0) != nil {
			return false
		}
		for {
			s.space()
			if len(open) == 0 {
				return s.pos == len(s.data)
			}
			if bracket := open[len(open)-1]; !s.peek(closing(bracket)) {
				break
			}
			s.pos++
			open = open[:len(open)-1]
		}
		if !s.peek(',') {
			return false
		}
		s.pos++
		if s.space(); open[len(open)-1] == '{' && !s.member() {
			return false
		}
	}
}

// closing returns the bracket that closes what one opens.
func closing(bracket byte) byte { return bracket + 2 }

// quoted passes over a string as a Cursor does, and reports whether it has an end.
func (s *scanner) quoted() (ok bool) {
	s.pos, ok = EndOfString(s.data, s.pos)
	return ok
}

// member passes over a key and its colon.
func (s *scanner) member() bool {
	if _, err := s.key(); err != nil {
		return false
	}
	s.space()
	if !s.peek(':') {
		return false
	}
	s.pos++
	return true
}
