// Package drivertest checks implementations of driver.Store: [Run] tests each
// promise in its comment.
package drivertest
