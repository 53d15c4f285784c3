// Package loginpath finds the PATH of the user's terminal, for programs that are started from a
// desktop.
package loginpath
