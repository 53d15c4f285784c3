// Package openapi makes a [rest.API] of an OpenAPI document: each operation becomes
// an endpoint, and so a tool.
//
// [Parse] reads OpenAPI 3.0, 3.1 and 3.2, as JSON or YAML. It returns plain data: change
// it, keep it in a file (see [rest.Export]), and hand it to [rest.New].
//
// # Documents of others
//
// A document is read as if an enemy had written it. Nothing is ever fetched and no
// file is read: a reference that leaves the document is a [Problem]. Sizes, nesting,
// aliases and references are bounded. The texts of the document become descriptions that
// a model reads, so the gate of the registry stands behind this package as it does behind
// a server.
//
// A document does not choose which secrets are sent to it. A $ in the address of a
// server is written as $$, and the names of the secrets that it logs in with begin
// with REST_ and the name that the program gives the API, or else the host that they
// are sent to. But it does choose that host: give [Options].BaseURL, or set
// PublicOnly in the Network of [rest.Options], if it may not name an address of your
// own network. And its title names the API unless [Options].Name does: to publish
// that replaces the tools of any server in the registry that has the same name.
//
// # What is lost
//
// One operation that cannot be taken over does not take others with it. It is left
// out, and a Problem says where in the document and why. So are parameters that are
// not required. Read the Problems once; nothing in them changes while the document
// stays the same.
//
// These have no place in an API, and are left out without a word: callbacks,
// webhooks, links, examples of whole bodies, allowReserved (reserved characters are
// always escaped, and the server sees the same value), and the schemas of answers.
// The latter would become output schemas, which have to hold for every answer, and
// documents are seldom that exact.
//
// # Login
//
// The schemes of an API become one login, whose secrets are references such as
// ${REST_PETSTORE___API_KEY}, which [rest.API.Secrets] lists. [Options].Security is the
// choice of the schemes. All requests carry that
// login, those of operations that need none as well, as it belongs to the one host
// that all of them go to. Operations for which it is not enough are left out; Parse
// once more with other schemes to have them in an API of their own.
//
// # Schemas
//
// The schemas of OpenAPI 3.0 are written anew as JSON Schema 2020-12; references into
// the document become $defs of the schema that needs them, recursive ones too.
// Properties that are only read are left out of what is sent. In the body of a PATCH
// no defaults are kept: a default that is filled in would change what the caller did not
// mention.
//
// # The parser
//
// OpenAPI is read by this package itself, and YAML by go.yaml.in/yaml, the parser of
// the YAML organization, which needs no other module. In version 0.152 of
// github.com/getkin/kin-openapi one wrong member or reference loses the whole
// document, and numbers go through floating point, so that 9007199254740993 becomes
// 9007199254740992; version 0.42 of github.com/pb33f/libopenapi needs a newer Go than
// this library does.
package openapi
