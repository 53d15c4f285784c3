//go:build !race

package profile_test

const (
	corpusShare = 1
	tripValues  = 8
	realShare   = 1
	lossRounds  = 250
)

const raced = false
