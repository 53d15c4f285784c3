package jsonscan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of arrays and objects that is accepted.
const MaxDepth = 128

// keyRoom is the number of keys in open objects up to which a scan needs no
// memory from the heap.
const keyRoom = 32

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

// Reasons of a [SyntaxError] for JSON that is well-formed and not acceptable.
const (
	TooDeep      = "nested too deeply"
	DuplicateKey = "duplicate key"
	InvalidUTF8  = "invalid UTF-8"
)

// A SyntaxError says where the input is not acceptable JSON and why.
type SyntaxError struct {
	Offset int // in bytes
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset) }

// Valid checks that data is one JSON value and nothing else.
func Valid(data []byte) error {
	s := scanner{reader: reader{data: data}}
	_, err := s.whole()
	return err
}

// ValidHalves is [Valid] for what is written here: it also accepts halves of
// surrogate pairs, which stand for bytes that are no UTF-8.
func ValidHalves(data []byte) error {
	s := scanner{reader: reader{data: data}, halves: true}
	_, err := s.whole()
	return err
}

// Scan checks that data is one JSON object and nothing else, and returns its
// JSON-RPC parts. Keys other than the six of JSON-RPC are checked and left out.
func Scan(data []byte) (Message, error) {
	s := scanner{reader: reader{data: data}, keep: true}
	kind, err := s.whole()
	if err != nil {
		return Message{}, err
	}
	if kind != '{' {
		return Message{}, ErrNotObject
	}
	m := Message{ID: s.id.of(data), Params: s.params.of(data), Result: s.result.of(data), Error: s.error.of(data)}
	if m.Version = "2.0"; string(s.version.of(data)) != `"2.0"` {
		m.Version, _ = String(s.version.of(data))
	}
	m.Method, _ = String(s.method.of(data))
	return m, nil
}

// whole checks all of the data and returns its first byte.
func (s *scanner) whole() (kind byte, err error) {
	s.space()
	if s.pos < len(s.data) {
		kind = s.data[s.pos]
	}
	if err := s.value(0); err != nil {
		return 0, err
	}
	s.space()
	if s.pos != len(s.data) {
		return 0, s.fail("trailing bytes after the value")
	}
	return kind, s.characters()
}

// characters checks that all of the data, which was accepted, is UTF-8.
func (s *scanner) characters() error {
	// Outside of strings nothing but ASCII was accepted.
	if s.high&highs != 0 && !utf8.Valid(s.data) {
		return &SyntaxError{invalidUTF8(s.data), InvalidUTF8}
	}
	return nil
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

// A scanner holds places in the data instead of parts of it, and most of the
// keys in itself, so that a scan needs no memory from the heap.
type scanner struct {
	reader
	high uint64 // what of the strings was looked at, each eight bytes upon the last

	// The keys of all open objects, innermost last, with their quotes.
	keys int // how many
	near [keyRoom]span
	more []span // those that near has no room for

	slash bool // there was an escape in a key

	halves bool // of surrogate pairs are accepted

	keep                                       bool // the parts of a message, which follow
	version, id, method, params, result, error span
}

// A span is a place in the data. The zero span is no place.
type span struct{ start, end int }

func (p span) of(data []byte) []byte {
	if p.end == 0 {
		return nil
	}
	return data[p.start:p.end:p.end]
}

func (s *scanner) fail(reason string) error { return &SyntaxError{s.pos, reason} }

// A reader is at a place of a text.
type reader struct {
	data []byte
	pos  int
}

// space passes over white space.
func (r *reader) space() {
	if r.pos < len(r.data) && r.data[r.pos] <= ' ' {
		r.spaces()
	}
}

func (r *reader) spaces() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
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
	for {
		s.plain()
		if s.pos >= len(s.data) {
			return s.fail("unterminated string")
		}
		switch s.data[s.pos] {
		case '"':
			s.pos++
			return nil
		case '\\':
			if err := s.escape(); err != nil {
				return err
			}
		default:
			return s.fail("control character in string")
		}
	}
}

// plain moves to the next byte that means something in a string: a quote, a
// backslash or a control character. It looks at eight bytes at a time, in which
// long texts are mostly plain.
func (s *scanner) plain() {
	data, pos, high := s.data, s.pos, s.high // in registers
	for ; len(data)-pos >= 8; pos += 8 {
		w := binary.LittleEndian.Uint64(data[pos:])
		high |= w
		if found := special(w); found != 0 {
			s.pos, s.high = pos+bits.TrailingZeros64(found)/8, high
			return
		}
	}
	for ; pos < len(data); pos++ {
		c := data[pos]
		high |= uint64(c)
		if c == '"' || c == '\\' || c < ' ' {
			break
		}
	}
	s.pos, s.high = pos, high
}

// Words of eight bytes. An operation on them that sets the high bit of the bytes
// that are meant may set those of bytes above as well, so only the lowest counts.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special sets the high bit of the bytes of w that mean something in a string: one that
// is a quote or a control character is less than 0x21 but for its second bit, and one that is
// a backslash is zero but for its own bits.
func special(w uint64) uint64 {
	v, x := w^2*ones, w^'\\'*ones
	return ((v-0x21*ones)&^v | (x-ones)&^x) & highs
}

// IsPlain reports whether JSON is ASCII, and has no character that is escaped by its number.
func IsPlain(json []byte) bool {
	var found uint64
	for ; len(json) > 8; json = json[8:] {
		w, next := binary.LittleEndian.Uint64(json), binary.LittleEndian.Uint64(json[1:])
		pair := (w ^ '\\'*ones) | (next ^ 'u'*ones)
		found |= w | (pair-ones)&^pair
	}
	for _, c := range json {
		found |= uint64(c)
	}
	return found&highs == 0 && !bytes.Contains(json, []byte(`\u`))
}

func (s *scanner) escape() error {
	s.pos++
	if s.pos >= len(s.data) {
		return s.fail("unterminated string")
	}
	switch c := s.data[s.pos]; {
	case escaped(c) != 0:
		s.pos++
		return nil
	case c == 'u':
		r, err := s.codeUnit()
		if err != nil || s.halves || !utf16.IsSurrogate(r) {
			return err
		}
		// Half a character: readers differ about what it is without the other.
		if !s.peek('\\') || s.pos+1 >= len(s.data) || s.data[s.pos+1] != 'u' {
			return s.fail("half a surrogate pair")
		}
		s.pos++
		second, err := s.codeUnit()
		if err == nil && utf16.DecodeRune(r, second) == utf8.RuneError {
			err = s.fail("half a surrogate pair")
		}
		return err
	}
	return s.fail("unknown escape")
}

// codeUnit reads the u of an escape and its four digits.
func (s *scanner) codeUnit() (rune, error) {
	s.pos++
	start := s.pos
	for range 4 {
		if s.pos >= len(s.data) || !isHex(s.data[s.pos]) {
			return 0, s.fail("malformed \\u escape")
		}
		s.pos++
	}
	return hex4(s.data[start:]), nil
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) array(depth int) error {
	if depth > MaxDepth {
		return s.fail(TooDeep)
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
		return s.fail(TooDeep)
	}
	s.pos++
	s.space()
	if s.peek('}') {
		s.pos++
		return nil
	}
	first := s.keys
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
		if depth == 1 && s.keep {
			if err := s.part(key, span{start, s.pos}); err != nil {
				return err
			}
		}
		s.space()
		switch {
		case s.peek(','):
			s.pos++
		case s.peek('}'):
			s.pos++
			s.keys = first
			return nil
		default:
			return s.fail("expected , or } in object")
		}
	}
}

// key reads a key and returns its place.
func (s *scanner) key() (span, error) {
	if !s.peek('"') {
		return span{}, s.fail("expected a key")
	}
	start := s.pos
	if err := s.string(); err != nil {
		return span{}, err
	}
	s.slash = s.slash || bytes.IndexByte(s.data[start:s.pos], '\\') >= 0
	return span{start, s.pos}, nil
}

// text returns the content of the key at p.
func (s *scanner) text(p span) []byte {
	if !s.slash {
		return s.data[p.start+1 : p.end-1]
	}
	return unquote(p.of(s.data))
}

// fewKeys is the object size up to which comparing beats hashing.
const fewKeys = 16

// claim records key in the innermost object, whose keys begin at first, and
// fails if it is there already.
func (s *scanner) claim(key span, first int, seen map[string]struct{}) (map[string]struct{}, error) {
	if s.keys-first < fewKeys {
		for i := first; i < s.keys; i++ {
			if string(s.openKey(i)) == string(s.text(key)) {
				return nil, s.fail(DuplicateKey)
			}
		}
		s.push(key)
		return nil, nil
	}
	if seen == nil {
		seen = make(map[string]struct{}, 4*fewKeys)
		for i := first; i < s.keys; i++ {
			seen[string(s.openKey(i))] = struct{}{}
		}
	}
	if _, dup := seen[string(s.text(key))]; dup {
		return nil, s.fail(DuplicateKey)
	}
	seen[string(s.text(key))] = struct{}{}
	return seen, nil
}

func (s *scanner) openKey(i int) []byte {
	if i < keyRoom {
		return s.text(s.near[i])
	}
	return s.text(s.more[i-keyRoom])
}

func (s *scanner) push(key span) {
	if s.keys < keyRoom {
		s.near[s.keys] = key
	} else {
		s.more = append(s.more[:s.keys-keyRoom], key)
	}
	s.keys++
}

// part keeps a part of a message.
func (s *scanner) part(key, value span) error {
	switch string(s.text(key)) {
	case "jsonrpc":
		s.version = value
	case "id":
		s.id = value
	case "method":
		if s.data[value.start] != '"' {
			return s.fail("method is not a string")
		}
		s.method = value
	case "params":
		s.params = value
	case "result":
		s.result = value
	case "error":
		if string(value.of(s.data)) != "null" {
			s.error = value
		}
	}
	return nil
}

// OneLine makes line breaks of JSON spaces: they stand between tokens only.
func OneLine(json []byte) {
	for _, b := range []byte("\n\r") {
		for rest := json; ; {
			i := bytes.IndexByte(rest, b)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i:]
		}
	}
}
