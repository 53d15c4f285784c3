package mcp

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// decodeIcons decodes icons. Those that could not be shown without danger are
// left out: a picture comes from the web or stands in the address itself, and
// never from a file, a script or elsewhere.
func decodeIcons(key, value []byte) ([]Icon, error) {
	icons, err := decodeAs[[]Icon](key, value)
	return safeIcons(icons), err
}

func safeIcons(icons []Icon) []Icon {
	var safe []Icon
	for _, icon := range icons {
		scheme, _, found := strings.Cut(icon.Source, ":")
		if found && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "data")) {
			safe = append(safe, icon)
		}
	}
	return safe
}

// withSafeIcons returns what a server says of its program, with safe icons only.
func withSafeIcons(server *Implementation) *Implementation {
	if server == nil || len(server.Icons) == 0 {
		return server
	}
	safe := *server
	safe.Icons = safeIcons(server.Icons)
	return &safe
}

// decodeInteger decodes a whole number, however it is written.
func decodeInteger(key, value []byte) (int64, error) {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, nil
	}
	if string(value) == "null" {
		return 0, nil
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return 0, at(string(key), errors.New("not a whole number"))
	}
	return int64(f), nil
}

func decodeListedResource(raw []byte, _ bool) (*Resource, error) {
	if raw[0] != '{' {
		return nil, errNotObject
	}
	r := &Resource{}
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "uri":
			err = decodeString(&r.URI, key, value)
		case "name":
			err = decodeString(&r.Name, key, value)
		case "title":
			err = decodeString(&r.Title, key, value)
		case "description":
			err = decodeString(&r.Description, key, value)
		case "mimeType":
			err = decodeString(&r.MIMEType, key, value)
		case "size":
			r.Size, err = decodeInteger(key, value)
		case "annotations":
			r.Annotations, err = decodeAs[*Annotations](key, value)
		case "icons":
			r.Icons, err = decodeIcons(key, value)
		case "_meta":
			r.Meta, err = decodeAs[Meta](key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if r.URI == "" {
		return nil, at("uri", errMissing)
	}
	return r, nil
}

func decodeResourceTemplate(raw []byte, _ bool) (*ResourceTemplate, error) {
	if raw[0] != '{' {
		return nil, errNotObject
	}
	t := &ResourceTemplate{}
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "uriTemplate":
			err = decodeString(&t.URITemplate, key, value)
		case "name":
			err = decodeString(&t.Name, key, value)
		case "title":
			err = decodeString(&t.Title, key, value)
		case "description":
			err = decodeString(&t.Description, key, value)
		case "mimeType":
			err = decodeString(&t.MIMEType, key, value)
		case "annotations":
			t.Annotations, err = decodeAs[*Annotations](key, value)
		case "icons":
			t.Icons, err = decodeIcons(key, value)
		case "_meta":
			t.Meta, err = decodeAs[Meta](key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if t.URITemplate == "" {
		return nil, at("uriTemplate", errMissing)
	}
	return t, nil
}

func decodePrompt(raw []byte, _ bool) (*Prompt, error) {
	if raw[0] != '{' {
		return nil, errNotObject
	}
	p := &Prompt{}
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "name":
			err = decodeString(&p.Name, key, value)
		case "title":
			err = decodeString(&p.Title, key, value)
		case "description":
			err = decodeString(&p.Description, key, value)
		case "arguments":
			p.Arguments, err = decodeEach(key, value, decodePromptArgument)
		case "icons":
			p.Icons, err = decodeIcons(key, value)
		case "_meta":
			p.Meta, err = decodeAs[Meta](key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if p.Name == "" {
		return nil, at("name", errMissing)
	}
	return p, nil
}

func decodePromptArgument(raw []byte) (*PromptArgument, error) {
	if raw[0] != '{' {
		return nil, errNotObject
	}
	a := &PromptArgument{}
	var err error
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "name":
			err = decodeString(&a.Name, key, value)
		case "title":
			err = decodeString(&a.Title, key, value)
		case "description":
			err = decodeString(&a.Description, key, value)
		case "required":
			a.Required, err = decodeBool(key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if a.Name == "" {
		return nil, at("name", errMissing)
	}
	return a, nil
}
