// Package drivertest checks implementations of driver.Store: [Run] makes of each
// promise in its comment a test.
package drivertest
