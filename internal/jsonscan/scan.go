package jsonscan

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of arrays and objects that is accepted.
const MaxDepth = 128

// ErrNotObject is returned by [Scan] for valid JSON that is not an object.
var ErrNotObject = errors.New("not a JSON object")

// A Message holds the parts of a JSON-RPC message as slices of the scanned
// input. A part that is absent is nil.
type Message struct {
	Version string // the member "jsonrpc"
	ID      []byte
	Method  string
	Params  []byte
	Result  []byte
	Error   []byte
}

// IsResponse reports whether m answers a request.
func (m *Message) IsResponse() bool { return m.Method == "" && (m.Result != nil || m.Error != nil) }

// A SyntaxError says where the input is not acceptable JSON and why.
type SyntaxError struct {
	Offset int // in bytes
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset) }

// Valid checks that data is one JSON value and nothing else.
func Valid(data []byte) error {
	_, err := scan(data, nil)
	return err
}

// Scan checks that data is one JSON object and nothing else, and returns its
// JSON-RPC parts. Keys other than the six of JSON-RPC are checked and left out.
func Scan(data []byte) (Message, error) {
	var m Message
	kind, err := scan(data, &m)
	if err != nil {
		return Message{}, err
	}
	if kind != '{' {
		return Message{}, ErrNotObject
	}
	return m, nil
}

func scan(data []byte, top *Message) (kind byte, err error) {
	if !utf8.Valid(data) {
		return 0, &SyntaxError{invalidUTF8(data), "invalid UTF-8"}
	}
	s := scanner{data: data, top: top}
	s.space()
	if s.pos < len(data) {
		kind = data[s.pos]
	}
	if err := s.value(0); err != nil {
		return 0, err
	}
	s.space()
	if s.pos != len(data) {
		return 0, s.fail("trailing bytes after the value")
	}
	return kind, nil
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

type scanner struct {
	data []byte
	pos  int
	top  *Message
	// keys holds the keys of all open objects, innermost last.
	keys [][]byte
}

func (s *scanner) fail(reason string) error { return &SyntaxError{s.pos, reason} }

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) value(depth int) error {
	if s.pos >= len(s.data) {
		return s.fail("unexpected end")
	}
	switch c := s.data[s.pos]; c {
	case '{':
		return s.object(depth + 1)
	case '[':
		return s.array(depth + 1)
	case '"':
		return s.string()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return s.number()
		}
		return s.fail("unexpected character")
	}
}

func (s *scanner) literal(word string) error {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return s.fail("unexpected character")
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

func (s *scanner) peek(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }

func (s *scanner) number() error {
	if s.peek('-') {
		s.pos++
	}
	if s.peek('0') {
		s.pos++
	} else if !s.digits() {
		return s.fail("malformed number")
	}
	if s.peek('.') {
		s.pos++
		if !s.digits() {
			return s.fail("malformed number")
		}
	}
	if s.peek('e') || s.peek('E') {
		s.pos++
		if s.peek('+') || s.peek('-') {
			s.pos++
		}
		if !s.digits() {
			return s.fail("malformed number")
		}
	}
	return nil
}

func (s *scanner) string() error {
	s.pos++
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c < ' ':
			return s.fail("control character in string")
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		default:
			s.pos++
		}
	}
	return s.fail("unterminated string")
}

func (s *scanner) escape() error {
	s.pos++
	if s.pos >= len(s.data) {
		return s.fail("unterminated string")
	}
	switch s.data[s.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
		for range 4 {
			if s.pos >= len(s.data) || !isHex(s.data[s.pos]) {
				return s.fail("malformed \\u escape")
			}
			s.pos++
		}
		return nil
	}
	return s.fail("unknown escape")
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) array(depth int) error {
	if depth > MaxDepth {
		return s.fail("nested too deeply")
	}
	s.pos++
	s.space()
	if s.peek(']') {
		s.pos++
		return nil
	}
	for {
		s.space()
		if err := s.value(depth); err != nil {
			return err
		}
		s.space()
		switch {
		case s.peek(','):
			s.pos++
		case s.peek(']'):
			s.pos++
			return nil
		default:
			return s.fail("expected , or ] in array")
		}
	}
}

func (s *scanner) object(depth int) error {
	if depth > MaxDepth {
		return s.fail("nested too deeply")
	}
	first := len(s.keys)
	defer func() { s.keys = s.keys[:first] }()
	s.pos++
	s.space()
	if s.peek('}') {
		s.pos++
		return nil
	}
	var seen map[string]struct{}
	for {
		s.space()
		key, err := s.key()
		if err != nil {
			return err
		}
		if seen, err = s.claim(key, first, seen); err != nil {
			return err
		}
		s.space()
		if !s.peek(':') {
			return s.fail("expected : after key")
		}
		s.pos++
		s.space()
		start := s.pos
		if err := s.value(depth); err != nil {
			return err
		}
		if depth == 1 && s.top != nil {
			if err := s.keep(key, s.data[start:s.pos:s.pos]); err != nil {
				return err
			}
		}
		s.space()
		switch {
		case s.peek(','):
			s.pos++
		case s.peek('}'):
			s.pos++
			return nil
		default:
			return s.fail("expected , or } in object")
		}
	}
}

// key reads a key and returns its content, unescaped.
func (s *scanner) key() ([]byte, error) {
	if !s.peek('"') {
		return nil, s.fail("expected a key")
	}
	start := s.pos
	if err := s.string(); err != nil {
		return nil, err
	}
	return unquote(s.data[start:s.pos]), nil
}

// unquote returns the content of a valid JSON string.
func unquote(quoted []byte) []byte {
	content := quoted[1 : len(quoted)-1]
	for _, c := range content {
		if c == '\\' {
			var text string
			// A string that the scanner accepted always decodes.
			_ = json.Unmarshal(quoted, &text)
			return []byte(text)
		}
	}
	return content
}

// fewKeys is the object size up to which comparing beats hashing.
const fewKeys = 16

// claim records key in the innermost object, whose keys begin at first, and
// fails if it is there already.
func (s *scanner) claim(key []byte, first int, seen map[string]struct{}) (map[string]struct{}, error) {
	open := s.keys[first:]
	if len(open) < fewKeys {
		for _, k := range open {
			if string(k) == string(key) {
				return nil, s.fail("duplicate key")
			}
		}
		s.keys = append(s.keys, key)
		return nil, nil
	}
	if seen == nil {
		seen = make(map[string]struct{}, 4*fewKeys)
		for _, k := range open {
			seen[string(k)] = struct{}{}
		}
	}
	if _, dup := seen[string(key)]; dup {
		return nil, s.fail("duplicate key")
	}
	seen[string(key)] = struct{}{}
	return seen, nil
}

func (s *scanner) keep(key, value []byte) error {
	switch string(key) {
	case "jsonrpc":
		s.top.Version, _ = String(value)
	case "id":
		s.top.ID = value
	case "method":
		if value[0] != '"' {
			return s.fail("method is not a string")
		}
		s.top.Method = string(unquote(value))
	case "params":
		s.top.Params = value
	case "result":
		s.top.Result = value
	case "error":
		if string(value) != "null" {
			s.top.Error = value
		}
	}
	return nil
}
