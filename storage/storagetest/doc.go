// Package storagetest checks implementations of storage.Store: [Run] tests each
// promise in its comment.
package storagetest
