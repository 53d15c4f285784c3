//go:build !linux

package transport

// closeInherited does nothing. On Windows a child gets its own handles only.
func closeInherited() error { return nil }
