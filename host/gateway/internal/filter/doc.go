// Package filter tells the part of the belt that a profile or a grant has from all of it.
package filter
