package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// The functions here decode what the protocol's reader has checked already. They look at
// exact keys, unlike encoding/json, which would let "ISERROR" pass for "isError", and pass
// over members that they do not know. Their errors are ProtocolErrors with the path of
// what is wrong, without server and method.

var errMissing = errors.New("missing")

// Kinds of JSON, as an error names them.
const (
	aString  = "a string"
	aNumber  = "a number"
	aBool    = "a boolean"
	anArray  = "an array"
	anObject = "an object"
)

// A kindError reports a JSON value of another kind than is wanted. It is made often where
// an answer is hostile, so that its text is put together only when it is read.
type kindError struct {
	got  byte // the first of the value; zero if there is none
	want string
}

func (e *kindError) Error() string {
	got := "nothing"
	if e.got != 0 {
		got = plain.Article(jsonscan.TypeOf(e.got))
	}
	return "got " + got + ", want " + e.want
}

// wrongKind returns the error of a value that is not of the kind wanted.
func wrongKind(value []byte, want string) error {
	if len(value) == 0 {
		return &kindError{0, want}
	}
	return &kindError{value[0], want}
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

func isNull(value []byte) bool { return string(value) == "null" }

// at says where in an answer an error is.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	if inner, ok := errors.AsType[*ProtocolError](err); ok {
		switch {
		case path == "" || inner.Path == "" || inner.Path[0] == '[':
			path += inner.Path
		default:
			path += "." + inner.Path
		}
		err = inner.Err
	}
	return &ProtocolError{Path: path, Err: err}
}

// A field is a member of an object that is to be decoded.
type field struct {
	name string
	// into is where the value goes: a pointer, or a func([]byte) error that takes it. A
	// json.RawMessage keeps the value as it is. Null is the zero value, but to a function.
	into any
	need bool // it is a string, and must not be empty
}

// decodeObject decodes the fields of an object.
func decodeObject(raw []byte, fields ...field) error {
	if !isObject(raw) {
		return wrongKind(raw, anObject)
	}
	for key, value := range jsonscan.Fields(raw) {
		for i := range fields {
			if fields[i].name != string(key) {
				continue
			}
			if err := decodeInto(fields[i].into, value); err != nil {
				return at(fields[i].name, err)
			}
		}
	}
	for i := range fields {
		if text, ok := fields[i].into.(*string); ok && fields[i].need && *text == "" {
			return at(fields[i].name, errMissing)
		}
	}
	return nil
}

// fieldsOf returns the fields of a struct by their JSON names, without those that can be
// anything, and lists of structs. The one that need names must not be empty.
func fieldsOf(into any, need string) (fields []field) {
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if kind := f.Type.Kind(); kind != reflect.Interface && (kind != reflect.Slice || f.Type.Elem().Kind() != reflect.Pointer) {
			fields = append(fields, field{name: name, into: v.Field(i).Addr().Interface(), need: name == need})
		}
	}
	return fields
}

// decodeInto decodes a value into what into of a [field] says.
func decodeInto(into any, value []byte) (err error) {
	switch into := into.(type) {
	case func([]byte) error:
		return into(value)
	case *string:
		return decodeString(into, value)
	case *bool:
		*into, err = decodeBool(value)
	case *int64:
		*into, err = decodeInteger(value)
	case *[]sdk.Icon:
		*into, err = decodeIcons(value)
	case *json.RawMessage:
		if *into = value; isNull(value) {
			*into = nil
		}
	default:
		return unmarshal(into, value)
	}
	return err
}

// by decodes a value by a function of its own.
func by[T any](into *T, decode func([]byte) (T, error)) func([]byte) error {
	return func(value []byte) (err error) {
		*into, err = decode(value)
		return err
	}
}

// decoded returns v, or nil with an error.
func decoded[T any](v *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// arrayOf decodes an array into list, which is nil for null and only then.
func arrayOf[T any](list *[]T, decode func([]byte) (T, error)) func([]byte) error {
	return func(value []byte) error {
		if *list = nil; isNull(value) {
			return nil
		}
		if value[0] != '[' {
			return wrongKind(value, anArray)
		}
		*list = []T{}
		for element := range jsonscan.Elements(value) {
			item, err := decode(element)
			if err != nil {
				return at(fmt.Sprintf("[%d]", len(*list)), err)
			}
			*list = append(*list, item)
		}
		return nil
	}
}

func decodeString[T ~string](dst *T, value []byte) error {
	text, ok := jsonscan.String(value)
	if !ok && !isNull(value) {
		return wrongKind(value, aString)
	}
	*dst = T(text)
	return nil
}

// decodeText is decodeString without a copy.
func decodeText(value []byte) ([]byte, error) {
	text, ok := jsonscan.Text(value)
	if !ok && !isNull(value) {
		return nil, wrongKind(value, aString)
	}
	return text, nil
}

// decodeAs decodes parts that need no exactness, such as annotations.
func decodeAs[T any](value []byte) (v T, err error) {
	err = unmarshal(&v, value)
	return v, err
}

// unmarshal decodes a value as encoding/json does. In an any a number is a [json.Number].
func unmarshal(into any, value []byte) error {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	err := dec.Decode(into)
	if err == nil {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return errors.New("wrong type")
	}
	return at(wrong.Field, errors.New("wrong type"))
}

func decodeBool(value []byte) (bool, error) {
	switch string(value) {
	case "true":
		return true, nil
	case "false", "null":
		return false, nil
	}
	return false, wrongKind(value, aBool)
}

// decodeInteger decodes a whole number, however it is written.
func decodeInteger(value []byte) (int64, error) {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, nil
	}
	if isNull(value) {
		return 0, nil
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return 0, wrongKind(value, "a whole number")
	}
	return int64(f), nil
}

// decodeIcons decodes icons. Those that could not be shown without danger are
// left out: a picture comes from the web or stands in the address itself, and
// never from a file, a script or elsewhere.
func decodeIcons(value []byte) (icons []sdk.Icon, err error) {
	var all []sdk.Icon
	err = arrayOf(&all, decodeAs[sdk.Icon])(value)
	for _, icon := range all {
		scheme, _, found := strings.Cut(icon.Source, ":")
		if found && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "data")) {
			icons = append(icons, icon)
		}
	}
	return icons, err
}
