package tools

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/belt"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/schema"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
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
	r := &argumentReader{belt: b, tool: d.Name, root: schema.Decode(d.InputSchema), values: map[string]json.RawMessage{}, listed: map[string]bool{}, given: map[string]bool{}}
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
		return r.object("standard input", r.belt.Env.Stdin)
	case strings.HasPrefix(arg, "@"):
		text, err := r.file("", arg)
		if err != nil {
			return err
		}
		return r.object(arg[1:], strings.NewReader(text))
	case strings.HasPrefix(strings.TrimSpace(arg), "{"):
		return r.object("the argument", strings.NewReader(arg))
	case !pair || strings.TrimSuffix(key, ":") == "":
		return cli.UsageError("the argument %q is not key=value, key:=json, a JSON object, @file or -", arg)
	}
	key, asJSON := strings.CutSuffix(key, ":")
	value, err := r.file(key, value)
	switch {
	case err != nil:
		return err
	case !asJSON:
		return r.text(key, value)
	case !json.Valid([]byte(value)):
		return cli.UsageError("the value of %s:= is not JSON; %s=VALUE takes a text as it is", key, key)
	}
	if err := acceptable("the value of "+key+":=", []byte(value)); err != nil {
		return err
	}
	return r.set(key, json.RawMessage(value))
}

// file returns the content of the file that a value names as @file, and any other value as it is.
func (r *argumentReader) file(key, value string) (string, error) {
	path, named := strings.CutPrefix(value, "@")
	if !named {
		return value, nil
	}
	f, err := os.Open(r.belt.Abs(path))
	if err != nil {
		e := cli.UsageError("an argument cannot be read: %v", err)
		if key != "" {
			e.Cure = "@ names a file; the text itself is written " + key + `:='"` + value + `"'`
		}
		return "", e
	}
	defer f.Close()
	data, err := readAll(f)
	return string(data), err
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
func (r *argumentReader) object(from string, text io.Reader) error {
	data, err := readAll(text)
	if err == nil {
		err = acceptable(from, data)
	}
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return cli.UsageError("%s is not a JSON object", from)
	}
	maps.Copy(r.values, members)
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
	root := schema.Resolve(r.root, r.root)
	properties, _ := schema.Get(root, "properties").(map[string]any)
	if _, ok := properties[key]; ok || len(properties) == 0 {
		return nil
	}
	for _, word := range []string{"additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "if"} {
		if schema.Get(root, word) != nil {
			return nil
		}
	}
	e := cli.UsageError("tool %q has no parameter %q", r.tool, key)
	e.Cure = strings.TrimSpace(cli.DidYouMean(key, slices.Sorted(maps.Keys(properties)), "") + " " + key + ":=JSON sends it all the same")
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
	items := schema.Get(schema.Resolve(r.root, property), "items")
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
	if json.Valid([]byte(text)) && types != nil {
		kind := schema.TypeOf(schema.Decode([]byte(text)))
		text := strings.TrimSpace(text)
		switch {
		case kind == "integer" && slices.Contains(types, "number"):
			return json.RawMessage(text)
		case kind == "integer" && slices.Contains(types, kind):
			text, _, _ = strings.Cut(text, ".") // as not all take 1.0
			return json.RawMessage(text)
		case kind != "string" && slices.Contains(types, kind):
			return json.RawMessage(text)
		}
	}
	if types == nil || slices.Contains(types, "string") {
		data, _ := json.Marshal(text)
		return data
	}
	return nil
}

// maxDepth bounds the alternatives of a schema that are followed.
const maxDepth = 16

// property returns the schema of a property, nil if there is none.
func (r *argumentReader) property(key string) any {
	switch found := r.properties(r.root, key, 0); len(found) {
	case 0:
		return schema.Get(schema.Resolve(r.root, r.root), "additionalProperties")
	case 1:
		return found[0]
	default:
		return map[string]any{"anyOf": found}
	}
}

// properties returns the schemas that a schema and its parts have for a property.
func (r *argumentReader) properties(of any, key string, depth int) (found []any) {
	of = schema.Resolve(r.root, of)
	if depth > maxDepth {
		return nil
	}
	if p := schema.Get(schema.Get(of, "properties"), key); p != nil {
		return []any{p}
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := schema.Get(of, word).([]any)
		for _, part := range parts {
			found = append(found, r.properties(part, key, depth+1)...)
		}
	}
	for _, word := range []string{"then", "else"} {
		if part := schema.Get(of, word); part != nil {
			found = append(found, r.properties(part, key, depth+1)...)
		}
	}
	return found[:min(len(found), 100)]
}

// types returns the types that a schema allows; nil if it does not say.
func (r *argumentReader) types(of any, depth int) []string {
	of = schema.Resolve(r.root, of)
	if depth > maxDepth {
		return nil
	}
	list := schema.Types(of)
	if list != nil {
		return slices.Compact(list)
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		alternatives, _ := schema.Get(of, word).([]any)
		for _, a := range alternatives {
			types := r.types(a, depth+1)
			if types == nil {
				return nil
			}
			list = append(list, types...)
		}
	}
	all, _ := schema.Get(of, "allOf").([]any)
	for _, a := range all {
		if types := r.types(a, depth+1); list == nil {
			list = types
		}
	}
	return list
}

// completeCall completes a server and a tool, and behind them the arguments of the tool that are not given yet, the
// required ones first, or the values of one that has begun.
func completeCall(b *belt.Belt) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		list, directive := b.CompleteTools(cmd, args, start)
		c, err := b.Load(cmd.Context())
		dash := cmd.ArgsLenAtDash() // completion puts one behind all
		if len(list) > 0 || len(args) == 0 || err != nil || dash >= 0 && dash < len(args) {
			return list, directive
		}
		t, err := namedTarget(cmd, b, c, args)
		if err != nil {
			return nil, directive
		}
		var optional []cobra.Completion
		for _, tool := range b.Cached(t.server) {
			if tool.Name != t.tool {
				continue
			}
			text, _ := json.Marshal(tool.InputSchema)
			root := schema.Decode(text)
			properties, _ := schema.Get(root, "properties").(map[string]any)
			required, _ := schema.Get(root, "required").([]any)
			for _, key := range slices.Sorted(maps.Keys(properties)) {
				isGiven := slices.ContainsFunc(t.rest, func(arg string) bool { return strings.HasPrefix(arg, key+"=") || strings.HasPrefix(arg, key+":=") })
				property := schema.Resolve(root, properties[key])
				if !belt.ShellSafe(key) || isGiven && !slices.Contains(schema.Types(property), "array") {
					continue
				}
				if strings.HasPrefix(start, key+"=") {
					return choices(root, property, key+"="), directive
				}
				description, _ := schema.Get(property, "description").(string)
				into := &optional
				if slices.Contains(required, any(key)) {
					into = &list
				}
				*into = append(*into, belt.Completion(key+"=", description))
			}
		}
		return append(list, optional...), directive | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	}
}

// choices returns the values that the schema of a property names, each behind a text.
func choices(root, property any, before string) (list []cobra.Completion) {
	parts := []any{property, schema.Get(property, "items")}
	for _, word := range []string{"anyOf", "oneOf"} {
		alternatives, _ := schema.Get(property, word).([]any)
		parts = append(parts, alternatives...)
	}
	for _, part := range parts {
		part = schema.Resolve(root, part)
		values, _ := schema.Get(part, "enum").([]any)
		if values == nil && slices.Contains(schema.Types(part), "boolean") {
			values = []any{true, false}
		}
		for _, value := range values {
			if text := fmt.Sprint(value); belt.ShellSafe(text) {
				list = append(list, before+text)
			}
		}
	}
	return list
}
