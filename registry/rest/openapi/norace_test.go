//go:build !race

package openapi_test

const raced = false
