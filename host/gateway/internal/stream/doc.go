// Package stream keeps messages for a client until it takes them and, if it may resume, for a while longer.
package stream
