package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/redact"
)

// A ConfigError reports a Config that cannot be used.
//
//cure:set the field that it names as it says
type ConfigError struct {
	// Server is the server's name.
	Server string
	// Field is the field of Config, such as "Client.Issuer".
	Field string
	// Problem says what is wrong, and what would be right.
	Problem string

	name string // what the user calls the field; empty if the same
}

// configError reports a field of the Config, as what the user calls it.
func (f *Flow) configError(field, problem string) *ConfigError {
	return &ConfigError{Server: f.config.Server, Field: field, Problem: problem, name: f.config.Names[field]}
}

func (e *ConfigError) Error() string {
	return printed("auth: server %q: %s %s", e.Server, cmp.Or(e.name, e.Field), e.Problem)
}

// A URLError reports an address that was refused before anything was sent there:
// its scheme, or the network that it leads to. It shows no more of it than
// scheme and host.
//
//cure:enter an https address, or let the guard of the client reach the network that it names
type URLError struct {
	// Server is the server's name.
	Server string
	// Field is where the address comes from, such as "token_endpoint".
	Field string
	// Origin is its scheme and host, as far as they can be shown.
	Origin string
	// Problem says what is wrong with it.
	Problem string
}

func (e *URLError) Error() string {
	return printed("auth: server %q: %s %q refused: %s", e.Server, e.Field, e.Origin, e.Problem)
}

// A discoveryError reports that no authorization server was found.
type discoveryError struct {
	// server is the server's name.
	server string
	// stage is what was looked for: "protected resource metadata" or
	// "authorization server metadata".
	stage string
	// err is what there was at each place that was tried.
	err error
	// noOAuth says that the server wants credentials, and has never spoken of OAuth.
	noOAuth bool
	cure    string // what the user can do; empty for nothing
}

func (e *discoveryError) Error() string {
	if e.noOAuth {
		return printed("auth: server %q wants credentials, and has no login that can be found: it may want a token in a header such as Authorization (tried: %s)", e.server, whatOf(e.err))
	}
	return printed("auth: server %q: no usable %s: %s%s", e.server, e.stage, whatOf(e.err), e.cure)
}

// NoOAuth reports whether the server wants credentials and has never spoken of OAuth: it may want
// a token that is set by hand.
func (e *discoveryError) NoOAuth() bool { return e.noOAuth }

// Unwrap returns the cause.
func (e *discoveryError) Unwrap() error { return e.err }

// A metadataError reports metadata of an authorization server, or of the resource, that must
// not be used.
type metadataError struct {
	// server is the server's name.
	server string
	// issuer is whose metadata it is; empty if it is that of the resource.
	issuer string
	// field is the member, such as "code_challenge_methods_supported".
	field string
	// problem says what is wrong, and the cure if there is one.
	problem string
}

func (e *metadataError) Error() string {
	if e.issuer == "" {
		return printed("auth: server %q: the %s of its metadata %s", e.server, e.field, e.problem)
	}
	return printed("auth: server %q: authorization server %q: %s %s", e.server, e.issuer, e.field, e.problem)
}

// An IssuerMismatchError reports something of another authorization server than
// it has to be of. Nothing was sent.
//
//cure:enter the issuer that you mean; if the server names another each time, do not log in there
type IssuerMismatchError struct {
	// server is the server's name.
	server string
	// what names the object of the wrong issuer: "metadata", "protected resource",
	// "response", "registered client", "session".
	what string
	// want and got are the issuers. got is empty if none is named.
	want, got string
	cure      string // what the user can do; empty for nothing
}

func (e *IssuerMismatchError) Error() string {
	if e.got == "" {
		return printed("auth: server %q: the %s names no issuer; it must be %q%s", e.server, e.what, e.want, e.cure)
	}
	return printed("auth: server %q: the %s is of issuer %q; it must be %q%s", e.server, e.what, e.got, e.want, e.cure)
}

// mismatch returns the error that reports something of another issuer, with its cure.
func (f *Flow) mismatch(what, want, got string) *IssuerMismatchError {
	e := &IssuerMismatchError{server: f.config.Server, what: what, want: want, got: got}
	switch {
	case what == "metadata" && strings.TrimSuffix(got, "/") == strings.TrimSuffix(want, "/"):
		e.cure = ": if the server names it wrongly, give the former as " + f.name("Issuer")
	case what == "metadata":
		e.cure = ": if both are one authorization server that you trust, give its endpoints as " + f.name("Authority")
	case what == "protected resource":
		e.cure = ": correct " + f.name("Issuer") + ", or give the endpoints of the latter as " + f.name("Authority")
	case what == "registered client" && f.config.Client != nil:
		e.cure = ": correct " + f.name("Client.Issuer")
	default:
		e.cure = ": log in again"
	}
	return e
}

// name returns what the user calls a field of the Config.
func (f *Flow) name(field string) string { return cmp.Or(f.config.Names[field], "Config."+field) }

// A ScopeError reports that the server wants more rights than the user is asked for.
//
//cure:ask the user for the scopes in it by a new login, or do without the call
type ScopeError struct {
	// Server is the server's name.
	Server string
	// Scopes are those that are too much. They may be the server's text.
	Scopes []string
	// Problem says why.
	Problem string
}

func (e *ScopeError) Error() string {
	return printed("auth: server %q: scopes %s: %s", e.Server, shownScopes(e.Scopes), e.Problem)
}

// shownScopes returns a list of scopes as an error shows it, which a server may have made.
func shownScopes(scopes []string) string {
	const most, longest = 10, 100
	shown := make([]string, 0, most)
	for _, scope := range scopes[:min(len(scopes), most)] {
		if len(scope) > longest {
			scope = strings.ToValidUTF8(scope[:longest], "") + "…"
		}
		shown = append(shown, redact.Known().Text(scope))
	}
	text := fmt.Sprintf("%q", shown)
	if more := len(scopes) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// A StateError reports a response that does not belong to a login: its state is
// missing, wrong, used before or too old. Nothing was sent.
//
//cure:begin the login again: its address was used before, or is too old
type StateError struct {
	// Server is the server's name; empty if no login is known by that state.
	Server string
	// Problem says which.
	Problem string
}

func (e *StateError) Error() string {
	if e.Server == "" {
		return "auth: response to no login: " + plain.Text(e.Problem)
	}
	return printed("auth: server %q: response to no login: %s", e.Server, e.Problem)
}

// A RegistrationError reports that there is no client as which to log in.
//
//cure:register a client by hand at the provider, and enter its ID
type RegistrationError struct {
	// server is the server's name.
	server string
	// issuer is the authorization server.
	issuer string
	// err is why registration failed, or that it is not offered.
	err  error
	cure string // what the user can do; empty for nothing
}

func (e *RegistrationError) Error() string {
	return printed("auth: server %q: no client at %q: %s%s", e.server, e.issuer, whatOf(e.err), e.cure)
}

// Unwrap returns the cause.
func (e *RegistrationError) Unwrap() error { return e.err }

// An OAuthError reports that an authorization server has refused a request. It
// holds nothing of the answer but its code and, in its text, what it says for people.
//
//cure:see the code: invalid_grant wants a new login, invalid_client another client
type OAuthError struct {
	// Server is the MCP server's name.
	Server string
	// Request is what was refused: "authorization", "token", "refresh",
	// "registration", "revocation", "device authorization", "token exchange".
	Request string
	// Status is the HTTP status; 0 for an authorization response.
	Status int
	// Code is the error code of the answer, such as "invalid_grant"; empty if
	// it has none.
	Code string
	// RetryAfter is how long the authorization server wants to be left alone.
	RetryAfter time.Duration

	host string // that has refused it
	said string // for people, see describe
	cure string // what the user can do; empty for nothing
}

// withCure adds the cure of a refusal that has one.
func (f *Flow) withCure(e *OAuthError) *OAuthError {
	if e.Code == "invalid_target" && !f.config.NoResource { // RFC 8707, section 2
		e.cure = ": if it takes no resource parameter, leave that out by " + f.name("NoResource")
	}
	return e
}

func (e *OAuthError) Error() string {
	return printed("auth: server %q: %s", e.Server, e.what())
}

func (e *OAuthError) what() string {
	text := e.Request + " refused"
	if e.host != "" {
		text += " by " + e.host
	}
	text += ": " + cmp.Or(e.Code, "no error code")
	if e.said != "" {
		text += fmt.Sprintf(": %q", e.said)
	}
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP status %d)", e.Status)
	}
	return plain.Text(text + e.cure)
}

// A RequestError reports a request to an authorization server, or for metadata,
// that brought no answer, or one that cannot be read.
//
//cure:try again later; if it goes on, look at the address and the proxy
type RequestError struct {
	// server is the MCP server's name.
	server string
	// request is what was asked, as in [OAuthError], or "metadata".
	request string
	// host was asked.
	host string
	// NotSent says that the request cannot have been received.
	NotSent bool
	// err is what happened. It shows nothing of the answer.
	err error

	answered bool // by the authorization server, but with something else
}

func (e *RequestError) Error() string {
	return printed("auth: server %q: %s", e.server, printed("%s request to %s: %v", e.request, e.host, e.err))
}

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.err }

// A LoginRequiredError reports that only a human can help: the request needs a
// login, or a login with more rights.
//
//cure:send the user to the URL in it, or call Login of the host
type LoginRequiredError struct {
	// Server is the server's name.
	Server string
	// User is the user that has to log in; empty in programs with one user.
	User string
	// URL is where; empty if the login was declined before, or could not be
	// begun.
	URL string
	// UserCode is what to type there, for a login by device code.
	UserCode string
	// Expires is when URL is no longer good.
	Expires time.Time
	// Scopes are set if the user is logged in and more rights are needed.
	Scopes []string
	// Reason says why the last login is no longer good; empty if there was none.
	Reason string
	// Done, if not nil, is closed when the session has changed: when the user has
	// logged in, logged out or declined, here or in another process. Then the
	// request is worth another try.
	Done <-chan struct{}
}

func (e *LoginRequiredError) Error() string {
	who := ""
	if e.User != "" {
		who = printed(" of user %q", e.User)
	}
	text := printed("auth: server %q needs a login%s", e.Server, who)
	if len(e.Scopes) > 0 {
		text += printed(" for scopes %q", e.Scopes)
	}
	if e.Reason != "" {
		text += " (" + plain.Text(e.Reason) + ")"
	}
	if e.URL != "" {
		text += ": open the login URL of this error"
	}
	return text
}

// LoginURL returns URL. The state of an mcp.Client has it.
func (e *LoginRequiredError) LoginURL() string { return e.URL }

// LoggedIn returns Done. An mcp.Client that waits for a login waits for it.
func (e *LoginRequiredError) LoggedIn() <-chan struct{} { return e.Done }

// StepUp reports whether the user is logged in, and only the request that failed
// needs more rights. An mcp.Client then goes on with its connection.
func (e *LoginRequiredError) StepUp() bool { return len(e.Scopes) > 0 }

// AwaitLogin calls do until it returns something else than the [*LoginRequiredError] of a
// login that waits for the user. Between two calls it waits until the user has logged in,
// or the login has ended in another way. do is a method such as Ready of an mcp.Client.
//
// The error is that of do, such as a LoginRequiredError without a URL if the user has
// declined; or that of ctx, if it ends while the user is waited for.
func AwaitLogin(ctx context.Context, do func(context.Context) error) error {
	if do == nil {
		return errors.New("auth: AwaitLogin: do is nil")
	}
	for {
		err := do(ctx)
		var required *LoginRequiredError
		if !errors.As(err, &required) || required.URL == "" || required.Done == nil {
			return err
		}
		select {
		case <-required.Done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// printed is fmt.Sprintf with control and hidden characters made visible: the values
// may be a server's words.
func printed(format string, args ...any) string { return plain.Text(fmt.Sprintf(format, args...)) }

// whatOf returns the text of an error that is part of another, which has named
// the server already.
func whatOf(err error) string {
	if d, ok := err.(interface{ what() string }); ok {
		return d.what()
	}
	if err == nil {
		return "it is not known why"
	}
	return plain.Text(err.Error())
}
