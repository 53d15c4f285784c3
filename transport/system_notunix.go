//go:build !unix

package transport

// newTryWriter returns nil: here a write to a pipe waits for its reader.
func newTryWriter(duplex) tryWriter { return nil }

// newLazyReader returns nil: here a reader holds memory while it waits.
func newLazyReader(duplex) lazyReader { return nil }
