//go:build !race

package jsonc

const raced = false
