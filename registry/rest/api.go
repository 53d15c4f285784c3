package rest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// An API describes a service with HTTP endpoints. Its JSON form is that of files,
// see [Parse] and [Export].
//
// In the path of BaseURL, in Headers and in Auth, ${NAME} stands for a secret of that
// name, which [Options].Secrets gives when a request is made; $$ stands for one $.
// Nothing else is replaced.
type API struct {
	// Name is the name of the service among the servers of a registry: the
	// Origin.Server of its tools.
	Name string `json:"name"`
	// Description is for people.
	Description string `json:"description,omitempty"`
	// BaseURL is what the paths of the endpoints follow, with or without a path of
	// its own. A secret in it stays within its segment.
	BaseURL string `json:"baseUrl"`
	// Auth is how requests log in. The zero value: not at all.
	Auth Auth `json:"auth,omitzero"`
	// Headers are sent with each request.
	Headers map[string]string `json:"headers,omitempty"`
	// HealthPath is the path that [Service.Health] asks for, with GET. Empty: that of
	// the BaseURL, with HEAD.
	HealthPath string `json:"healthPath,omitempty"`
	// Trusted says that the annotations of the endpoints are believed, see
	// registry.Server.
	Trusted bool `json:"trusted,omitempty"`
	// Disabled leaves all tools of the service out.
	Disabled bool `json:"disabled,omitempty"`
	// Endpoints are the tools.
	Endpoints []Endpoint `json:"endpoints"`
}

// An Endpoint is one operation of an [API], and becomes one tool.
type Endpoint struct {
	// Name is the name of the tool in its API. It has 1 to 128 of the characters
	// A-Z a-z 0-9 _ - and the dot.
	Name string `json:"name"`
	// Title is a name for people.
	Title string `json:"title,omitempty"`
	// Description tells the model what the tool does.
	Description string `json:"description,omitempty"`
	// Method is the HTTP method. Empty: GET.
	Method string `json:"method,omitempty"`
	// Path follows the base URL. {name} stands for the path parameter of that name.
	// A value of it never becomes more than one segment, or a dot segment.
	Path string `json:"path"`
	// Params are the arguments of the tool, but for those of Body.
	Params []Param `json:"params,omitempty"`
	// Defs are JSON Schemas by name, an object, to which those of Params and Body may
	// refer as #/$defs/name. They may refer to nothing else.
	Defs json.RawMessage `json:"defs,omitempty"`
	// Body says what the request's body is made of. Nil: of the parameters that are
	// in the body, as a JSON object; none, if there are none.
	Body *Body `json:"body,omitempty"`
	// Annotations replace those that follow from the method: GET, HEAD and OPTIONS
	// only read, PUT and DELETE are idempotent, all but the first three may destroy.
	Annotations *mcp.ToolAnnotations `json:"annotations,omitempty"`
	// Timeout is how long a call takes at most. Default: 30 s.
	Timeout Duration `json:"timeout,omitempty"`
	// MaxBytes is how large an answer may be, in bytes. Default: 1 MiB.
	MaxBytes int `json:"maxBytes,omitempty"`
	// Disabled leaves the tool out.
	Disabled bool `json:"disabled,omitempty"`
}

// A Param is an argument of a tool, and where it goes in the request.
type Param struct {
	// Name is the name of the parameter in the request.
	Name string `json:"name"`
	// Argument is the name of the argument. Empty: Name. Two parameters of one name
	// in different places need different ones.
	Argument string `json:"argument,omitempty"`
	// In is where it goes.
	In Place `json:"in"`
	// Description tells the model what it is.
	Description string `json:"description,omitempty"`
	// Schema is the JSON Schema of the argument. Empty: a string.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Required says that a call needs it. A path parameter is always required,
	// unless it has a default.
	Required bool `json:"required,omitempty"`
	// Default is what is sent if the argument is missing; a JSON value.
	Default json.RawMessage `json:"default,omitempty"`
	// Style is how arrays and objects are written, as in OpenAPI 3.1, section
	// 4.8.12: simple in path and headers, form in the query, in cookies and in the
	// fields of a form. Or it is json, anywhere: the value as JSON text. Empty: simple
	// in path and headers, form elsewhere, but objects in the fields of a form are
	// JSON text. In a body of JSON nothing has a style.
	//
	// Where the members of an object become parameters of their own, the schema has
	// to name them: no other member is sent.
	Style string `json:"style,omitempty"`
	// Explode writes each element as a parameter of its own. Nil: true for the
	// style form.
	Explode *bool `json:"explode,omitempty"`
}

// A Place is where in a request a parameter goes.
type Place string

// The places.
const (
	InPath   Place = "path"
	InQuery  Place = "query"
	InHeader Place = "header"
	InCookie Place = "cookie"
	InBody   Place = "body" // a member of the object that the body is
)

// A Body says what the body of a request is made of.
type Body struct {
	// ContentType is the media type. Empty: application/json.
	// application/x-www-form-urlencoded and multipart/form-data take the members of
	// the object as fields.
	ContentType string `json:"contentType,omitempty"`
	// Argument is the name of the one argument that is the whole body. Empty: the
	// parameters that are in the body are its members.
	Argument string `json:"argument,omitempty"`
	// Schema is the JSON Schema of that argument. Empty: any value.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Required says that a call needs it.
	Required bool `json:"required,omitempty"`
	// Template is the body's text: JSON in which "{{name}}", a string that is
	// nothing else, stands for the argument of that name as a JSON value, and
	// {{name}} within a longer string for its text. A member whose argument is
	// missing is left out. It replaces Argument.
	Template json.RawMessage `json:"template,omitempty"`
}

// A Duration is a time.Duration that is written as text in JSON, such as "30s".
type Duration time.Duration

// String returns the duration as time.Duration writes it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the duration as [time.Duration.String] does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [time.ParseDuration] reads, such as "1m30s".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return errors.New(`is not a duration such as "30s"`)
	}
	*d = Duration(v)
	return nil
}
