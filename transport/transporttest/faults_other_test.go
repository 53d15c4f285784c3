//go:build !unix

package transporttest_test

// beVictim does nothing: the faults are tried where there are signals.
func beVictim() {}
