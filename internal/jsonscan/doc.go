// Package jsonscan reads JSON-RPC messages in one strict pass and hands out
// slices of the input instead of decoded copies.
//
// # Why not encoding/json
//
// The standard decoder accepts duplicate keys (the last one wins), folds the
// case of field names and replaces bad UTF-8. A message that two programs read
// differently is a way to smuggle a call past a check, so everything here is
// refused that leaves room for a second reading: duplicate keys, bad UTF-8, halves
// of surrogate pairs, trailing bytes, and nesting deeper than [MaxDepth].
//
// # Use
//
// [Scan] checks a whole message and finds its parts. [Fields] and [Elements]
// walk an object or array that Scan has checked, and a [Cursor] goes down into
// one whose parts are large.
package jsonscan
