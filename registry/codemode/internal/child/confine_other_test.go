//go:build !linux

package child

func attempt() {}
