// Package message reads and writes JSON-RPC messages between a gateway and its clients. It works on bytes that
// package jsonscan has checked, and copies none that it can pass on.
package message
