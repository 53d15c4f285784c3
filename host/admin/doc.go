// Package admin lets administrators manage the servers of a host over HTTP.
//
//	h, err := admin.Handler(manager, &admin.Options{Authenticate: keys.Authenticate})
//	if err != nil {
//		return err
//	}
//	http.Handle("/api/v1/", h)
//
// # Servers
//
// The records of servers are below /api/v1/mcp/servers: they are listed, added, changed,
// switched on and off, tested and removed. Answers have the form {"code":200,"data":...},
// and those that fail {"code":404,"msg":"...","error":"err.mcp.not_found"}; the code is also
// the status of HTTP. A record has its arguments, headers and variables as texts of JSON
// (argsJson, headersJson, envJson), with secrets masked. PUT changes what its body names;
// a masked secret in it stays what it is. Times of records are in UTC and have no zone.
//
// All other paths answer with plain JSON, and failures with problem details (RFC 9457).
//
// # Who may what
//
// An [access.Authenticator] says who makes a request, and Options.Roles what they may:
// [View] reads, [Operate] changes, and whatever can start a process needs [StdioWrite]
// besides. It is granted to no caller by default. Adding a local server starts one, and so do
// changing, removing or testing one, and making or approving a call of its tools; each of them is
// refused with status 403 before anything is done.
//
// An operator decides where remote servers are and which variables of this machine are sent
// to them: give [Operate] to those alone who may see these variables.
//
// Requests of web pages from elsewhere are refused by their Origin and Host fields, bodies that
// are not JSON or larger than 1 MiB by their form. No answer has a secret of an entry.
package admin
