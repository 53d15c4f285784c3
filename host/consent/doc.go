// Package consent remembers which servers of somebody else's configuration the user
// allows to be started.
package consent
