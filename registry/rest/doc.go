// Package rest makes tools of HTTP endpoints.
//
// An [API] describes a service: where it is, how to log in, and its [Endpoint]s.
// [New] makes a [Service] of it, whose [Service.Tools] go into a registry. An API is
// data: it can be read from JSON and written to it, and holds names of secrets in
// place of secrets.
package rest
