// Package rest makes tools of HTTP endpoints.
//
// An [API] describes a service: where it is, how to log in, and each [Endpoint].
// [New] makes a [Service] of it, whose [Service.Tools] go into a registry. An API is
// data: it can be read from JSON and written to it, and holds names of secrets in
// place of secrets.
//
//	s, err := rest.New(api, nil)
//	if err != nil {
//		return err // an *APIError, with all that is wrong in the description
//	}
//	defer s.Close()
//	_, err = s.Publish(registry)
//
// # Arguments
//
// Each [Param] says where its argument goes. Numbers arrive as the model wrote them,
// JSON byte for byte. A value is escaped for its place, so that it is one segment of
// the path, one parameter, one header, one field or one member of JSON,
// whatever is in it. A value that cannot be sent so that the other side reads the same is
// refused with a [*registry.ArgumentsError] that the model can act on, and nothing is
// sent: a control character in a header or the path, a comma within an element where
// commas stand between elements, and whatever a server could take for a step up in the
// path, such as "..", "%2e%2e" or "a/..;b". A slash in a path value is sent as %2F; a
// server that takes that for a slash all the same is a reason for a pattern in the schema
// of the parameter.
//
// null stands for an argument that is not given, except in JSON.
//
// # Answers
//
// An answer with a status of success becomes a result: text as it is, in UTF-8, with
// structured content beside it if it is a JSON object; images and sounds as such;
// other bytes as an embedded resource.
//
// All other answers, and none at all, become results with IsError, for the model to
// read: the status, how long to wait if the API says so, and the beginning of the
// text, or why there is no answer, and whether the request may have been carried out.
// A program finds the error of a request without an answer in the result's GetError;
// [mcp.OutcomeOf] tells about it. Errors are the end of the caller's context, bad
// arguments and disabled tools.
//
// # Logins
//
// An [Auth] sends an API key, a bearer token, or a user and their password, or fetches
// a token first, see [TokenRequest]. Secrets are asked for when a request is made, with
// the context of its caller, so each user can have their own. Answers that repeat a
// secret that was sent are given with "[redacted]" in its place, if it has 6 bytes or
// more; no error shows one. A secret is what ${NAME} stands for in a header or in the
// login, whatever it is called, but for the user name; in the base URL it is one if its
// name says so, as API_KEY does and TENANT does not.
//
// # Trust
//
// The description is from who configures it. A call goes to where the description
// leads and nowhere else: redirects are followed within the origin only, for methods
// that change nothing, and not at all if a value made the path ambiguous. A tool
// that does something else than was approved has another [registry.Server]
// Fingerprint.
package rest
