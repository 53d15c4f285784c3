package rest

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A FileError is one thing wrong with what [Parse] reads. It shows no value.
type FileError struct {
	// Line and Column are those of the value, or of the endpoint or API that it is in.
	// They count from 1, Column in bytes.
	Line, Column int
	// Key is the path of the value, such as apis[0].auth.value; empty for the whole.
	Key string
	// Err says what is wrong and how to put it right.
	Err error
}

// Error returns "rest: apis:line:column: key: what is wrong".
func (e *FileError) Error() string {
	text := fmt.Sprintf("rest: apis:%d:%d: ", e.Line, e.Column)
	if e.Key != "" {
		text += e.Key + ": "
	}
	return text + e.Err.Error()
}

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

// Parse reads APIs from JSON, with comments and trailing commas if people like:
//
//	{
//	  "apis": [
//	    {
//	      "name": "shop",
//	      "baseUrl": "https://api.shop.example/v1",
//	      "auth": {"type": "bearer", "value": "${SHOP_TOKEN}"},
//	      "endpoints": [
//	        {"name": "get_order", "path": "/orders/{id}", "params": [{"name": "id", "in": "path"}]},
//	      ],
//	    },
//	  ],
//	}
//
// The keys are those of [API], [Endpoint] and so on. It is all or nothing: a key that
// is not known or comes twice, a value of another type, two APIs of one name and what
// [New] would refuse of any API is an error, and then there are no APIs. Each
// fault is a [*FileError]; several are joined, in the order of the file. Which addresses
// may be spoken to is not looked at, see [Network].
//
// An API says which secrets go where, see [API.Secrets]. Parse asks for none of them:
// a call does, and [Service.Health].
func Parse(data []byte) ([]*API, error) {
	doc, err := jsonc.Parse(data)
	if err != nil {
		var syntax *jsonc.SyntaxError
		if errors.As(err, &syntax) {
			return nil, &FileError{syntax.Line, syntax.Column, string(syntax.Path), errors.New(syntax.Message)}
		}
		return nil, &FileError{1, 1, "", err}
	}
	f := &apiFile{doc: doc}
	apis := f.read()
	if err := f.err(); err != nil {
		return nil, err
	}
	return apis, nil
}

// An apiFile is a file that is being read.
type apiFile struct {
	doc    *jsonc.Document
	faults []*FileError
}

func (f *apiFile) fail(offset int, path jsonc.Path, text string) {
	if len(f.faults) < maxProblems {
		pos := f.doc.Position(offset)
		f.faults = append(f.faults, &FileError{pos.Line, pos.Column, string(path), errors.New(text)})
	}
}

func (f *apiFile) err() error {
	slices.SortStableFunc(f.faults, func(a, b *FileError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(f.faults))
	for i, fault := range f.faults {
		errs[i] = fault
	}
	return errors.Join(errs...)
}

func (f *apiFile) read() []*API {
	root := &f.doc.Root
	if !f.is(root, "", jsonc.Object) {
		return nil
	}
	for i := range root.Members {
		if m := &root.Members[i]; m.Key != "apis" {
			f.fail(m.Offset, jsonc.Path("").Key(m.Key), `there is no such key; there is "apis"`)
		}
	}
	list := root.Member("apis")
	if list == nil {
		if f.faults == nil { // or a slip may be what is missing
			f.fail(root.Offset, "", `"apis" is missing: it is the list of the APIs`)
		}
		return nil
	}
	if !f.is(&list.Value, "apis", jsonc.Array) {
		return nil
	}
	var apis []*API
	first := map[string]bool{}
	for i := range list.Value.Elems {
		n, path := &list.Value.Elems[i], jsonc.Path("").Key("apis").Index(i)
		faults := len(f.faults)
		f.shape(n, path, reflect.TypeFor[API]())
		if len(f.faults) > faults {
			continue
		}
		api := new(API)
		if err := json.Unmarshal(f.doc.JSON(n), api); err != nil {
			f.fail(n.Offset, path, "cannot be read as an API")
			continue
		}
		if first[api.Name] {
			f.fail(n.Offset, path.Key("name"), "is that of another API, too")
		}
		first[api.Name] = true
		f.check(n, path, api)
		apis = append(apis, api)
	}
	return apis
}

// check notes what New would refuse.
func (f *apiFile) check(n *jsonc.Node, path jsonc.Path, api *API) {
	err := checkAPI(api)
	var bad *APIError
	if !errors.As(err, &bad) {
		return
	}
	for _, problem := range bad.Problems {
		node, key := n, path
		if problem.Endpoint != "" {
			i := endpointOf(api, problem)
			node, key = &n.Member("endpoints").Value.Elems[i], key.Key("endpoints").Index(i)
		}
		if problem.Field != "" {
			key += "." + jsonc.Path(problem.Field)
		}
		f.fail(node.Offset, key, problem.Text)
	}
}

// checkAPI refuses what New refuses, wherever the API may be.
func checkAPI(api *API) error {
	s, err := New(api, &Options{Network: Network{AllowHTTP: true, Allow: []netip.Prefix{
		netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0),
	}}})
	if err != nil {
		return err
	}
	return s.Close()
}

// endpointOf returns the index of the endpoint that a problem is about.
func endpointOf(api *API, p Problem) int {
	found := 0
	for i, e := range api.Endpoints {
		if e.Name == p.Endpoint || e.Name == "" && place("endpoints", i) == p.Endpoint {
			found = i
			if p.Field != "name" { // otherwise it is the last that has the name of another
				break
			}
		}
	}
	return found
}

// shape notes where a value has not the form of a Go type: keys that its fields do
// not have, spelled exactly, and values of another kind.
func (f *apiFile) shape(n *jsonc.Node, path jsonc.Path, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return
	}
	if text, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler); ok {
		if !f.is(n, path, jsonc.String) {
			return
		}
		if err := text.UnmarshalText([]byte(n.Text)); err != nil {
			f.fail(n.Offset, path, err.Error())
		}
		return
	}
	switch t.Kind() {
	case reflect.String:
		f.is(n, path, jsonc.String)
	case reflect.Bool:
		f.is(n, path, jsonc.Bool)
	case reflect.Int:
		if !f.is(n, path, jsonc.Number) {
			return
		}
		if _, err := strconv.Atoi(n.Text); err != nil {
			f.fail(n.Offset, path, "must be a whole number that is not too large")
		}
	case reflect.Slice:
		if !f.is(n, path, jsonc.Array) {
			return
		}
		for i := range n.Elems {
			f.shape(&n.Elems[i], path.Index(i), t.Elem())
		}
	case reflect.Map:
		if !f.is(n, path, jsonc.Object) {
			return
		}
		for i := range n.Members {
			f.shape(&n.Members[i].Value, path.Key(n.Members[i].Key), t.Elem())
		}
	case reflect.Struct:
		if !f.is(n, path, jsonc.Object) {
			return
		}
		f.members(n, path, t)
	default:
		f.fail(n.Offset, path, "cannot be given in a file")
	}
}

func (f *apiFile) members(n *jsonc.Node, path jsonc.Path, t reflect.Type) {
	fields := map[string]reflect.Type{}
	var known []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = t.Field(i).Type
		known = append(known, name)
	}
	for i := range n.Members {
		m := &n.Members[i]
		if field, ok := fields[m.Key]; ok {
			f.shape(&m.Value, path.Key(m.Key), field)
			continue
		}
		text := "there is no such key; there are " + strings.Join(known, ", ")
		for _, name := range known {
			if strings.EqualFold(name, strings.NewReplacer("_", "", "-", "").Replace(m.Key)) {
				text = "there is no such key; write " + strconv.Quote(name)
			}
		}
		f.fail(m.Offset, path.Key(m.Key), text)
	}
}

// is reports whether a value is of a kind, and notes a fault if it is not.
func (f *apiFile) is(n *jsonc.Node, path jsonc.Path, want jsonc.Kind) bool {
	if n.Kind != want {
		f.fail(n.Offset, path, "must be "+want.String()+", not "+n.Kind.String())
	}
	return n.Kind == want
}
