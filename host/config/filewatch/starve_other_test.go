//go:build !linux

package filewatch_test

func starve() bool { return false }

func feed() {}
