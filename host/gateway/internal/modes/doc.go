// Package modes says in which mode a gateway shows tools to a client: what a URL or a key asks for,
// what there is, and what was chosen for clients that are not known.
package modes
