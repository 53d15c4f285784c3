package openapi

// maxEndpoints is how many operations are taken over, in the order of the document.
const maxEndpoints = 1_000

// Options are the options of [Parse]. Nil and the zero value mean the defaults.
type Options struct {
	// Name is the name of the API: 1 to 128 of the characters A-Z a-z 0-9 _ - and the
	// dot. The names of its secrets are made of it: for petstore they begin with
	// REST_PETSTORE___. Empty: made of the document's title, and the names of the
	// secrets of the server's host.
	Name string
	// BaseURL is where the service is. Empty: the document's first server, with the
	// defaults of its variables. If that is relative, BaseURL has to be given. ${NAME} in it
	// is a secret, see rest.API.
	BaseURL string
	// Security names the security schemes, by their names in the document, that the
	// API logs in with. Nil: those of the first requirement, of the document and then of its
	// operations, that an API can have. Empty, but not nil: no login.
	Security []string
	// Include selects operations. Nil: all.
	Include func(op *Operation) bool
}

// An Operation is one method of one path of a document, for [Options].Include.
type Operation struct {
	// ID is the operationId as the document has it.
	ID string
	// Method is the HTTP method, in capital letters.
	Method string
	// Path is the path, such as /pets/{id}.
	Path string
	// Tags are the operation's tags.
	Tags []string
}

// included reports whether an operation is wanted.
func (d *document) included(op *operation) bool {
	if d.opts.Include == nil {
		return true
	}
	shown := op.Operation
	tags := op.at.get("tags").each()
	for _, t := range tags[:min(len(tags), maxTags)] {
		shown.Tags = append(shown.Tags, t.text())
	}
	return d.opts.Include(&shown)
}
