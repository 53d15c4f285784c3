package toolbrief

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// Bounds of a signature.
const (
	maxSignature     = 480 // bytes, about
	maxSignatureEnum = 100 // bytes of the values of one parameter
	maxSignatureTree = 2   // levels of objects within one another
	maxSignatureNest = 4   // levels of lists and alternatives within one another
	maxSignatureRefs = 32  // references that are followed
	maxUnionMembers  = 6   // alternatives of one value

	maxSignatureRead = 2 << 20 // bytes that are read to follow references
)

// more stands in a signature for what it does not say.
const more = "…"

// Signature returns the parameters that an input schema describes, in short:
//
//	(owner: string, state?: "open"|"closed", labels?: string[], filter?: {…})
//
// Required ones come first. It says less than the schema, and says where with "…".
// It is one line, whatever the schema holds.
func Signature(schema json.RawMessage) string {
	return write(&signer{root: schema}, func(s *signer) {
		s.write("(")
		s.object(schema, 0)
		s.write(")")
	})
}

// Type returns the type of the values that a schema describes, as Signature writes it
// and TypeScript has it: {id: number, tags?: string[]}.
func Type(schema json.RawMessage) string {
	return write(&signer{root: schema, script: true}, func(s *signer) { s.value(schema, 0) })
}

// write returns what a signer writes, with fewer levels of objects until there is room for all.
func write(s *signer, text func(*signer)) string {
	for s.tree = maxSignatureTree; ; s.tree-- {
		s.text, s.refs, s.cut = s.text[:0], 0, false
		if text(s); !s.cut || s.tree == 0 {
			return string(s.text)
		}
	}
}

// A signer writes one signature.
type signer struct {
	script bool // types are called as in TypeScript
	root   json.RawMessage
	tree   int // levels of objects that are shown
	text   []byte
	refs   int  // that were followed
	read   int  // bytes, to follow references
	cut    bool // there was no room for all
}

func (s *signer) write(text string) { s.text = append(s.text, text...) }

// full reports whether there is no room for anything more.
func (s *signer) full() bool {
	full := len(s.text) >= maxSignature
	s.cut = s.cut || full
	return full
}

// object writes the properties of an object, or at least that there is more.
func (s *signer) object(schema []byte, level int) {
	_, f := s.facts(schema)
	first := true
	begin := func() {
		if !first {
			s.write(", ")
		}
		first = false
	}
	rest := f.alternatives != nil || f.also != nil || f.open || f.elsewhere
	for _, required := range []bool{true, false} {
		for name, value := range jsonscan.Fields(f.properties) {
			if f.required[string(name)] != required {
				continue
			}
			if s.full() {
				rest = true
				break
			}
			begin()
			s.write(parameterName(string(name)))
			if !required {
				s.write("?")
			}
			s.write(": ")
			s.value(value, level+1)
		}
	}
	if rest {
		begin()
		s.write(more)
	}
}

// value writes what a value may be.
func (s *signer) value(schema []byte, level int) {
	schema, f := s.facts(schema)
	switch {
	case s.full():
		s.write(more)
	case string(schema) == "false":
		s.write("never")
	case f.constant != nil:
		s.values([][]byte{f.constant}, f.types)
	case f.enum != nil:
		s.values(f.enum, f.types)
	case len(f.types) > 0:
		s.alternatives(len(f.types), func(i int) { s.typed(f.types[i], &f, schema, level) })
	case f.alternatives != nil:
		if level > maxSignatureNest {
			s.write(more)
			return
		}
		s.alternatives(len(f.alternatives), func(i int) { s.value(f.alternatives[i], level+1) })
	case len(f.also) == 1 && level <= maxSignatureNest:
		s.value(f.also[0], level+1)
	case f.also != nil:
		s.write(more)
	case f.properties != nil:
		s.typed("object", &f, schema, level)
	case f.items != nil:
		s.typed("array", &f, schema, level)
	case f.elsewhere:
		s.write(more)
	default:
		s.write("any")
	}
}

// typed writes one type of a value.
func (s *signer) typed(name string, f *signatureFacts, schema []byte, level int) {
	switch {
	case name == "object" && f.says() && level > s.tree:
		s.write("{" + more + "}")
	case name == "object" && f.says():
		s.write("{")
		s.object(schema, level)
		s.write("}")
	case name == "array" && f.items == nil:
		s.write("any[]")
	case name == "array" && level > maxSignatureNest:
		s.write(more + "[]")
	case name == "array":
		before := len(s.text)
		s.value(f.items, level+1)
		if isUnion(s.text[before:]) {
			s.text = slices.Insert(s.text, before, '(')
			s.write(")")
		}
		s.write("[]")
	default:
		s.named(name)
	}
}

// named writes a type that has no parts.
func (s *signer) named(name string) {
	if s.script && name == "integer" {
		name = "number"
	}
	s.write(parameterName(name))
}

// values writes the values that are allowed, if they are few and short, else their
// types.
func (s *signer) values(values [][]byte, types []string) {
	size := 0
	for _, v := range values {
		size += len(v) + 1
	}
	if len(values) > 0 && size <= maxSignatureEnum {
		for i, v := range values {
			if i > 0 {
				s.write("|")
			}
			s.write(plain.Line(string(v)))
		}
		return
	}
	if len(types) == 0 && len(values) > 0 {
		types = []string{jsonscan.TypeOf(values[0][0])}
	}
	s.alternatives(len(types), func(i int) { s.named(types[i]) })
	s.write(more)
}

// alternatives writes the first of n alternatives.
func (s *signer) alternatives(n int, write func(i int)) {
	for i := range n {
		if i > 0 {
			s.write("|")
		}
		if i == maxUnionMembers || s.full() {
			s.write(more)
			return
		}
		write(i)
	}
}

// signatureFacts are what a signature says of a schema.
type signatureFacts struct {
	types              []string
	properties         []byte
	required           map[string]bool
	items              []byte
	enum               [][]byte
	constant           []byte
	alternatives, also [][]byte
	open               bool // an object without properties that takes any
	elsewhere          bool // a reference was not followed
}

// says reports whether anything is said of the members of an object.
func (f *signatureFacts) says() bool {
	for range jsonscan.Fields(f.properties) {
		return true
	}
	return f.alternatives != nil || f.also != nil
}

// facts reads a schema, or the one that it refers to.
func (s *signer) facts(schema []byte) ([]byte, signatureFacts) {
	var f signatureFacts
	var ref []byte
	for key, value := range jsonscan.Fields(schema) {
		switch string(key) {
		case "$ref":
			ref = value
		case "type":
			f.types = stringsIn(value)
		case "properties":
			f.properties = value
		case "required":
			f.required = map[string]bool{}
			for _, name := range stringsIn(value) {
				f.required[name] = true
			}
		case "items":
			f.items = value
		case "enum":
			f.enum = slices.Collect(jsonscan.Elements(value))
		case "const":
			f.constant = value
		case "anyOf", "oneOf":
			f.alternatives = append(f.alternatives, slices.Collect(jsonscan.Elements(value))...)
		case "allOf":
			f.also = append(f.also, slices.Collect(jsonscan.Elements(value))...)
		case "additionalProperties", "patternProperties":
			f.open = f.open || string(value) == "true" || leadingByte(value) == '{'
		}
	}
	f.open = f.open && f.properties == nil
	if ref != nil && f.types == nil && f.properties == nil && s.refs < maxSignatureRefs {
		s.refs++
		if target := s.pointedAt(ref); target != nil {
			return s.facts(target)
		}
	}
	f.elsewhere = ref != nil
	return schema, f
}

// pointedAt returns what a reference within the schema leads to, or nil. The same
// large part may have to be read for each step of each reference, so there is an end
// to it.
func (s *signer) pointedAt(ref []byte) []byte {
	pointer, _ := jsonscan.String(ref)
	if pointer == "#" {
		return s.root
	}
	path, ok := strings.CutPrefix(pointer, "#/")
	if !ok {
		return nil
	}
	at := []byte(s.root)
	for token := range strings.SplitSeq(path, "/") {
		if s.read += len(at); s.read > maxSignatureRead {
			return nil
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		if at = jsonscan.Member(at, token); at == nil {
			return nil
		}
	}
	return at
}

// stringsIn returns a string, or the strings of an array.
func stringsIn(value []byte) []string {
	if text, ok := jsonscan.String(value); ok {
		return []string{text}
	}
	var all []string
	for v := range jsonscan.Elements(value) {
		if text, ok := jsonscan.String(v); ok {
			all = append(all, text)
		}
	}
	return all
}

// isUnion reports whether a type has alternatives, outside of braces.
func isUnion(text []byte) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '{', '(':
			depth++
		case '}', ')':
			depth--
		case '|':
			if depth == 0 {
				return true
			}
		}
	}
	return false
}

var plainName = regexp.MustCompile(`^[\w.$-]{1,256}$`)

// parameterName returns a name as it is if it is a plain one, else in quotes.
func parameterName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return plain.Line(strconv.Quote(plain.Cut(name, maxShown)))
}

// maxShown is how much of a name is shown, in bytes.
const maxShown = 256

// leadingByte returns the first byte of JSON that is not white space, or 0.
func leadingByte(data []byte) byte {
	if data = bytes.TrimLeft(data, " \t\r\n"); len(data) > 0 {
		return data[0]
	}
	return 0
}
