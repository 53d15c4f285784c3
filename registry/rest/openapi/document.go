package openapi

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/rest"
)

// A document is an OpenAPI document on its way to an API.
type document struct {
	root     *node
	old      bool // 3.0: beside a reference nothing counts
	opts     Options
	problems problems
	defs     map[defKey]*def // the schemas that references lead to
	defNames names
	names    names
	login    login
	written  int // bytes of schemas in all endpoints
	looked   int // bytes that were looked at for endpoints
}

// Parse makes an API of an OpenAPI document in JSON or YAML, and tells what of it
// could not be taken over. The API passes [rest.New] once it has a BaseURL and an
// endpoint; if the document gives none, a Problem says so.
//
// The error says where the document is wrong, or which option cannot be used. Parse keeps nothing of the
// document. It is safe for concurrent use.
func Parse(text []byte, opts *Options) (*rest.API, []Problem, error) {
	d := &document{opts: *cmp.Or(opts, new(Options))}
	if name := d.opts.Name; name != nameOf(name, 128) {
		return nil, nil, optionError("Name", plain.Quote(name)+" has other characters than A-Z a-z 0-9 _ - and the dot, or more than 128")
	}
	if len(text) > jsonc.MaxSize {
		return nil, nil, &documentError{reason: fmt.Sprintf("is longer than %d bytes", jsonc.MaxSize)}
	}
	raw, err := asJSON(text)
	if err != nil {
		return nil, nil, err
	}
	d.root = &node{raw: raw}
	if err := d.checkVersion(); err != nil {
		return nil, nil, err
	}
	ops := d.operations()
	api := &rest.API{Name: d.apiName(d.root.get("info").get("title").text())}
	if api.BaseURL, err = d.baseURL(); err != nil {
		return nil, nil, err
	}
	if err := d.chooseLogin(api, ops); err != nil {
		return nil, nil, err
	}
	for _, op := range ops {
		if len(api.Endpoints) == maxEndpoints {
			d.problems.tell(op, op.at, "operation", fmt.Sprintf(
				"there are %d endpoints already; those behind are left out, too: choose by Options.Include", maxEndpoints))
			break
		}
		e, l := d.endpoint(api, op)
		if l != nil {
			d.problems.tell(op, l.at, "operation", l.reason)
			continue
		}
		api.Endpoints = append(api.Endpoints, *e)
	}
	return api, d.problems.all(), nil
}

// checkVersion refuses what is no document of OpenAPI 3.
func (d *document) checkVersion() error {
	if !d.root.isObject() {
		return &documentError{reason: "is not an object"}
	}
	if v := d.root.get("swagger"); v != nil {
		return &documentError{reason: "is of OpenAPI 2.0 (Swagger), only 3.0 to 3.2 are read: convert it first"}
	}
	version := d.root.get("openapi")
	text := version.text()
	if version.kind() == '0' { // unquoted in YAML
		text = string(version.raw)
	}
	if !regexp.MustCompile(`^3\.[0-2](\.|$)`).MatchString(text) {
		if version == nil {
			return &documentError{reason: `has no member "openapi" with its version`}
		}
		return &documentError{reason: "is of OpenAPI " + plain.Quote(text) + ", only 3.0 to 3.2 are read"}
	}
	d.old = strings.HasPrefix(text, "3.0")
	return nil
}

// apiName returns the name of the API.
func (d *document) apiName(title string) string {
	if d.opts.Name != "" {
		return d.opts.Name
	}
	// The name of a service is not "Swagger Petstore - OpenAPI 3.0" or "GitHub v3 REST
	// API".
	name := strings.ToLower(nameOf(title, 48))
	for _, end := range []string{"_openapi_3.0", "_openapi_3.1", "_rest_api", "_api"} {
		if short := strings.TrimSuffix(name, end); short != "" {
			name = strings.Trim(short, "_.-")
		}
	}
	if name == "" {
		return "api"
	}
	return name
}

// described joins a summary with a description.
func described(summary, description string) string {
	summary, description = strings.TrimSpace(summary), strings.TrimSpace(description)
	switch {
	case summary == "" || strings.HasPrefix(strings.ToLower(description), strings.ToLower(strings.TrimRight(summary, "."))):
		return description
	case description == "":
		return summary
	}
	return summary + "\n\n" + description
}
