// Package access says who makes a request of a gateway, and what they may.
//
// An [Authenticator] looks at an HTTP request and returns a [Caller]: the user whose logins
// are used, and a [Grant] with what the credential of the request allows. It is what
// gateway.Options takes.
package access
