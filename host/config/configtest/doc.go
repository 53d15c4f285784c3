// Package configtest checks implementations of config.Store: [Run] makes of each
// promise in its comment a test. For the formats of config files it has what their
// tests share: [Describe] for golden files, and [CheckParsed] for whatever was read.
package configtest
