// Package configtest checks implementations of config.Store: [Run] makes of each
// promise in its comment a test.
package configtest
