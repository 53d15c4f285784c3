// Package canonjson writes JSON values in one form, so that values that mean the
// same have the same bytes, and values that do not have others.
//
// Members of objects are sorted; there is no white space; strings are compared by
// what they contain, not by how it is escaped; numbers by their exact value, so
// that 1, 1.0 and 1e0 are one number and 9007199254740992 and 9007199254740993
// are two.
//
// The form must never change: hashes of it are kept in files for years. It is not
// that of RFC 8785, which takes numbers for floating point.
package canonjson
