package outcome

// A Class says what kind of failure an error is, for programs that count, log or explain
// errors. What became of the request is another question: see [Outcome].
type Class int

const (
	// None: there is no error.
	None Class = iota
	// Other: none of the following.
	Other
	// Cancelled: the caller gave up.
	Cancelled
	// Timeout: there was no answer in time.
	Timeout
	// LoginRequired: the user has to log in, or to log in with more rights.
	LoginRequired
	// Denied: the server, a policy or a user does not allow it.
	Denied
	// Busy: too many requests are under way.
	Busy
	// Closed: the client was closed.
	Closed
	// Unreachable: there was no connection.
	Unreachable
	// Lost: the connection or the answer was lost while the request was under way.
	Lost
	// TooLarge: a message exceeded a limit.
	TooLarge
	// Protocol: the server sent an answer that the protocol, or the tool's output
	// schema, does not allow.
	Protocol
	// ServerError: the server answered with an error.
	ServerError
)

// String returns the name of the class, such as "login_required".
func (c Class) String() string {
	names := [...]string{
		None: "none", Other: "other", Cancelled: "cancelled", Timeout: "timeout", LoginRequired: "login_required", Denied: "denied", Busy: "busy",
		Closed: "closed", Unreachable: "unreachable", Lost: "lost", TooLarge: "too_large", Protocol: "protocol", ServerError: "server_error",
	}
	if c < 0 || int(c) >= len(names) {
		return names[Other]
	}
	return names[c]
}
