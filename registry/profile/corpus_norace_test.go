//go:build !race

package profile_test

const corpusShare = 1

const raced = false
