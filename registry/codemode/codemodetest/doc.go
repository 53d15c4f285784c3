// Package codemodetest tests implementations of [codemode.Engine].
package codemodetest
