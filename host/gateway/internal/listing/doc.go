// Package listing makes the lists of a gateway: the names in them, their pages, and what tells one list from
// another.
package listing
