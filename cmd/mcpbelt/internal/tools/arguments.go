package tools

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/nearest"
	"github.com/mcpbelt/mcpbelt/registry"
)

// maxArguments bounds what is read of a file or of standard input, in bytes.
const maxArguments = 16 << 20

// An argumentReader makes the arguments of a tool out of those of the command line.
type argumentReader struct {
	belt   *belt.Belt
	tool   string
	root   any // the input schema, decoded
	values map[string]json.RawMessage
	listed map[string]bool // keys whose values were given one by one
	given  map[string]bool // keys that were given by key=value
}

// readArguments returns the JSON object that arguments of the command line mean:
//
//	key=value   a value of the type that the schema has for key
//	key=@file   such a value, read from a file
//	key:=json   a value as JSON; key:=@file reads it from a file
//	{"k": 1}    an object of many; @file and - read one from a file or standard input
func readArguments(b *belt.Belt, d *registry.Definition, args []string) (json.RawMessage, error) {
	r := &argumentReader{belt: b, tool: d.Name, values: map[string]json.RawMessage{}, listed: map[string]bool{}, given: map[string]bool{}}
	_ = json.Unmarshal(d.InputSchema, &r.root)
	for _, arg := range args {
		if err := r.add(arg); err != nil {
			return nil, err
		}
	}
	return json.Marshal(r.values)
}

func (r *argumentReader) add(arg string) error {
	key, value, pair := strings.Cut(arg, "=")
	switch {
	case arg == "-":
		data, err := readAll(r.belt.Env.Stdin)
		if err != nil {
			return err
		}
		return r.object("standard input", data)
	case strings.HasPrefix(arg, "@"):
		data, err := r.file(arg[1:])
		if err != nil {
			return err
		}
		return r.object(arg[1:], data)
	case strings.HasPrefix(strings.TrimSpace(arg), "{"):
		return r.object("the argument", []byte(arg))
	case !pair || strings.TrimSuffix(key, ":") == "":
		return cli.UsageError("the argument %q is not key=value, key:=json, a JSON object, @file or -", arg)
	}
	key, asJSON := strings.CutSuffix(key, ":")
	if strings.HasPrefix(value, "@") {
		data, err := r.file(value[1:])
		if err != nil {
			return err
		}
		value = string(data)
	}
	if asJSON {
		if !json.Valid([]byte(value)) {
			return cli.UsageError("the value of %s:= is not JSON; %s=VALUE takes a text as it is", key, key)
		}
		if err := acceptable("the value of "+key+":=", []byte(value)); err != nil {
			return err
		}
		return r.set(key, json.RawMessage(value))
	}
	return r.text(key, value)
}

// file reads a file that an argument names.
func (r *argumentReader) file(path string) ([]byte, error) {
	f, err := os.Open(r.belt.Abs(path))
	if err != nil {
		return nil, cli.UsageError("an argument cannot be read: %v", err)
	}
	defer f.Close()
	return readAll(f)
}

func readAll(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxArguments+1))
	if err != nil {
		return nil, cli.UsageError("an argument cannot be read: %v", err)
	}
	if len(data) > maxArguments {
		return nil, cli.UsageError("an argument has more than %d MiB", maxArguments>>20)
	}
	return data, nil
}

// object adds the members of a JSON object.
func (r *argumentReader) object(from string, data []byte) error {
	var members map[string]json.RawMessage
	if err := acceptable(from, data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return cli.UsageError("%s is not a JSON object", from)
	}
	for key, value := range members {
		r.values[key] = value
	}
	return nil
}

// acceptable returns an error for JSON that can be read in two ways.
func acceptable(what string, data []byte) error {
	if err := jsonscan.Valid(data); err != nil && json.Valid(data) {
		return cli.UsageError("%s is not acceptable JSON: %v", what, err)
	}
	return nil
}

func (r *argumentReader) set(key string, value json.RawMessage) error {
	if r.given[key] {
		return cli.UsageError("the argument %q is given twice", key)
	}
	r.given[key] = true
	r.values[key] = value
	return nil
}

// known returns an error for a key that is not among the properties of a schema that says
// nothing of others: it is most likely a mistake.
func (r *argumentReader) known(key string) error {
	root := r.resolve(r.root, 0)
	properties, _ := member(root, "properties").(map[string]any)
	if _, ok := properties[key]; ok || len(properties) == 0 {
		return nil
	}
	for _, word := range []string{"additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "if"} {
		if member(root, word) != nil {
			return nil
		}
	}
	e := cli.UsageError("tool %q has no parameter %q", r.tool, key)
	e.Cure = key + ":=JSON sends it all the same"
	if near := nearest.Names(key, slices.Sorted(maps.Keys(properties)), 3); len(near) > 0 {
		e.Cure = "did you mean " + strconv.Quote(near[0]) + "? " + e.Cure
	}
	return e
}

// text adds a value that is written as text, by the type that the schema has for it.
func (r *argumentReader) text(key, text string) error {
	if err := r.known(key); err != nil {
		return err
	}
	property := r.property(key)
	types := r.types(property, 0)
	if value := literal(types, text); value != nil {
		return r.set(key, value)
	}
	if types != nil && !slices.Contains(types, "array") {
		return cli.UsageError("%q is no value for %q, which takes %s", text, key, strings.Join(types, " or "))
	}
	// An element of a list, which may be given again.
	items := member(r.resolve(property, 0), "items")
	value := literal(r.types(items, 0), text)
	if value == nil {
		return cli.UsageError("%q is no element of the list %q; a list as JSON is written %s:=[...]", text, key, key)
	}
	if !r.listed[key] {
		r.listed[key] = true
		return r.set(key, slices.Concat(json.RawMessage("["), value, json.RawMessage("]")))
	}
	list := r.values[key]
	r.values[key] = slices.Concat(list[:len(list)-1], json.RawMessage(","), value, json.RawMessage("]"))
	return nil
}

// literal returns a text as a value of one of the types, or nil if it is of none. Of a
// value that may be a text, all but what is written as another type is one.
func literal(types []string, text string) json.RawMessage {
	if kind := kindOf(text); kind != "" && kind != "string" && types != nil {
		if slices.Contains(types, kind) || kind == "integer" && slices.Contains(types, "number") {
			return json.RawMessage(strings.TrimSpace(text))
		}
	}
	if types == nil || slices.Contains(types, "string") {
		data, _ := json.Marshal(text)
		return data
	}
	return nil
}

// kindOf returns the type of a JSON value, empty if the text is none.
func kindOf(text string) string {
	text = strings.TrimSpace(text)
	if !json.Valid([]byte(text)) {
		return ""
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return "integer"
	}
	return jsonscan.TypeOf(text[0])
}

// maxDepth bounds the references and alternatives of a schema that are followed.
const maxDepth = 16

// property returns the schema of a property, nil if there is none.
func (r *argumentReader) property(key string) any {
	root := r.resolve(r.root, 0)
	if p := member(member(root, "properties"), key); p != nil {
		return p
	}
	return member(root, "additionalProperties")
}

// resolve follows a reference within the schema.
func (r *argumentReader) resolve(schema any, depth int) any {
	ref, ok := member(schema, "$ref").(string)
	if !ok || depth > maxDepth || !strings.HasPrefix(ref, "#") {
		return schema
	}
	at := r.root
	for step := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if step != "" {
			at = member(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		}
	}
	return r.resolve(at, depth+1)
}

// types returns the types that a schema allows; nil if it does not say.
func (r *argumentReader) types(schema any, depth int) []string {
	schema = r.resolve(schema, 0)
	if depth > maxDepth {
		return nil
	}
	switch t := member(schema, "type").(type) {
	case string:
		return []string{t}
	case []any:
		var list []string
		for _, one := range t {
			if name, ok := one.(string); ok {
				list = append(list, name)
			}
		}
		return list
	}
	values, _ := member(schema, "enum").([]any)
	if value := member(schema, "const"); value != nil {
		values = append(values, value)
	}
	var list []string
	for _, v := range values {
		data, err := json.Marshal(v)
		if err == nil {
			list = append(list, kindOf(string(bytes.TrimSpace(data))))
		}
	}
	if list != nil {
		return slices.Compact(list)
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		alternatives, _ := member(schema, word).([]any)
		for _, a := range alternatives {
			types := r.types(a, depth+1)
			if types == nil {
				return nil
			}
			list = append(list, types...)
		}
	}
	all, _ := member(schema, "allOf").([]any)
	for _, a := range all {
		if types := r.types(a, depth+1); list == nil {
			list = types
		}
	}
	return list
}

// member returns a member of a decoded JSON object, nil if there is none.
func member(value any, key string) any {
	object, _ := value.(map[string]any)
	return object[key]
}
