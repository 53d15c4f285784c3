package rest

import (
	"encoding/json"

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
	// Method is GET, POST, PUT, PATCH or DELETE. Empty: GET.
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
	// Annotations replace those that follow from the method: GET only reads, PUT and
	// DELETE are idempotent, all but GET may destroy.
	Annotations *mcp.ToolAnnotations `json:"annotations,omitempty"`
	// TimeoutSeconds is how long a call takes at most. Default: 30.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
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
	// Style is how arrays are written, as in OpenAPI 3.1, section 4.8.12: simple in path
	// and headers, form in the query and in the fields of a form. Or it is json, anywhere:
	// the value as JSON text, which is the only form of objects. Empty: simple in path and
	// headers, form elsewhere, but objects in the fields of a form are JSON text. In a body of
	// JSON nothing has a style.
	Style string `json:"style,omitempty"`
	// Explode writes each element as a parameter of its own. Nil: true. It counts for the
	// style form only.
	Explode *bool `json:"explode,omitempty"`
}

// A Place is where in a request a parameter goes.
type Place string

// The places.
const (
	InPath   Place = "path"
	InQuery  Place = "query"
	InHeader Place = "header"
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
}

// An Auth is how requests log in. Which fields count depends on Type; the others are
// empty. Values may hold ${NAME}, see [API].
type Auth struct {
	// Type is the kind of login. Empty: none.
	Type AuthType `json:"type,omitempty"`
	// In is where an API key or a token that was fetched goes: InHeader (the default) or
	// InQuery. A cookie is one of [API].Headers.
	In Place `json:"in,omitempty"`
	// Name is what it is called there. Default: X-API-Key in a header, api_key
	// in the query; Authorization and access_token for a token that was fetched.
	Name string `json:"name,omitempty"`
	// Value is the API key or the bearer token. For a token that was fetched it is
	// what is sent, and {{token}} in it stands for the token; default: "Bearer
	// {{token}}" in the header Authorization, {{token}} elsewhere.
	Value string `json:"value,omitempty"`
	// User is the user name of basic authentication (RFC 7617). It has no colon.
	User string `json:"user,omitempty"`
	// Password is the password of basic authentication. It may be empty.
	Password string `json:"password,omitempty"`
	// Token says where a token comes from that is fetched first.
	Token *TokenRequest `json:"token,omitempty"`
}

// An AuthType is a kind of login.
type AuthType string

// The kinds; the empty one is none. Other headers that a service wants are among
// [API].Headers.
const (
	APIKey     AuthType = "api_key" // Value, where In and Name say
	Bearer     AuthType = "bearer"  // Value, in the header Authorization (RFC 6750)
	Basic      AuthType = "basic"   // User and Password (RFC 7617)
	FetchToken AuthType = "token"   // as [Auth].Token says
)

// A TokenRequest says how to fetch a token with POST before the first request, and again
// when it is over. One fetch serves all requests of a user that wait for it. A request that is
// answered with 401 is made once more with a new token, and so is one whose answer has
// one of the words of Rejected.
//
// URL, Fields, User and Password may hold ${NAME}, see [API]. A token is used for the user it
// was fetched for, and as long as these secrets are the same.
//
// A token is used for the seconds of a member expires_in beside it, or else for 5 minutes.
// The last tenth of the time, 30 seconds at most, is not used, and no token is used for more
// than a day. An expires_in of zero or less means that the token is for one request.
type TokenRequest struct {
	// URL is where the token comes from. Secrets may be in its path.
	URL string `json:"url"`
	// Fields are what is sent, such as grant_type and client_secret.
	Fields map[string]string `json:"fields,omitempty"`
	// JSON writes them as an object of strings. Otherwise they are a form.
	JSON bool `json:"json,omitempty"`
	// User is the user name of basic authentication at URL (RFC 7617), often the
	// id of a client. Empty: there is none.
	User string `json:"user,omitempty"`
	// Password is the password to it.
	Password string `json:"password,omitempty"`
	// Extract is where the token is in the answer, which is JSON then: members and
	// indexes with dots between them, such as data.access_token. Empty: the token is
	// the whole text.
	Extract string `json:"extract,omitempty"`
	// Rejected are texts, any of which says that the token is not valid if an
	// answer has it, whatever its status; only in its first 16 KiB is looked. The
	// request is then made once more, so a good answer must never have them.
	Rejected []string `json:"rejected,omitempty"`
}
