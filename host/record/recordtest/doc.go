// Package recordtest checks implementations of record.Store: [Run] makes of each promise
// in its comment a test.
package recordtest
