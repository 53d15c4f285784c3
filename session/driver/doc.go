// Package driver is what a place that keeps sessions has to offer: names, bytes
// and revisions. It knows nothing of what the bytes mean; package session seals
// them before they come here.
//
// [Memory] is the driver that keeps them no longer than the program runs. Package
// session/filestore keeps them in files. Test another one, for a
// database say, with package session/drivertest.
package driver
