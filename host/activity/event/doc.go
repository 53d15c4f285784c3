// Package event has the form of what an activity log writes down, for packages that record
// events and do not keep them.
package event
