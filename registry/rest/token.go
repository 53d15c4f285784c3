package rest

// A TokenRequest says how to fetch a token before the first request, and again when
// it is over. One fetch serves all requests of a user that wait for it. A request that is
// answered with 401 is made once more with a new token, and so is one whose answer has
// one of the words of Rejected.
//
// URL, Fields, Headers, User and Password may hold ${NAME}, see [API]. A token is
// used for whom it was fetched, and as long as these secrets are the same.
type TokenRequest struct {
	// URL is where the token comes from. Secrets may be in its path and its query.
	URL string `json:"url"`
	// Method is GET or POST. Empty: POST.
	Method string `json:"method,omitempty"`
	// Fields are what is sent, such as grant_type and client_secret.
	Fields map[string]string `json:"fields,omitempty"`
	// FieldsIn is where they go: InBody, InQuery or InHeader. Empty: InBody with
	// POST, InQuery with GET.
	FieldsIn Place `json:"fieldsIn,omitempty"`
	// Encoding is how they are written in a body. Empty: [FormEncoding].
	Encoding TokenEncoding `json:"encoding,omitempty"`
	// Headers are sent, too.
	Headers map[string]string `json:"headers,omitempty"`
	// User is the user name of basic authentication at URL (RFC 7617), often the
	// id of a client. Empty: there is none.
	User string `json:"user,omitempty"`
	// Password is the password to it.
	Password string `json:"password,omitempty"`
	// Extract is where the token is in the answer, which is JSON then: members and
	// indexes with dots between them, such as data.access_token, or a JSON Pointer
	// (RFC 6901), such as /data/access_token. Empty: the token is the whole text.
	Extract string `json:"extract,omitempty"`
	// ExpiresIn is where the answer says for how many seconds the token is good.
	// Empty: expires_in, beside the token. A number of zero or less means that the
	// token is for the requests that wait for it.
	ExpiresIn string `json:"expiresIn,omitempty"`
	// ExpiresAt is where the answer says when the token is over: as RFC 3339 writes
	// it, or in seconds or milliseconds since 1970. It replaces ExpiresIn.
	ExpiresAt string `json:"expiresAt,omitempty"`
	// TTL is how long the token is used if the answer does not say. Default: 5
	// minutes. However it is known, the last tenth of the time, 30 seconds at most,
	// is not used, and no token is used for more than a day.
	TTL Duration `json:"ttl,omitempty"`
	// Rejected are texts, any of which says that the token is not valid if an
	// answer has it, whatever its status; only in its first 16 KiB is looked. The
	// request is then made once more, so a good answer must never have them.
	Rejected []string `json:"rejected,omitempty"`
}

// A TokenEncoding is how the fields of a [TokenRequest] are written in a body.
type TokenEncoding string

// The encodings.
const (
	FormEncoding TokenEncoding = "form" // application/x-www-form-urlencoded
	JSONEncoding TokenEncoding = "json" // an object of strings
)
