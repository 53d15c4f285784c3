// Package driver is what a place that keeps sessions has to offer: names, bytes
// and revisions. It knows nothing of what the bytes mean; package session seals
// them before they come here.
//
// Package drivertest checks an implementation.
package driver
