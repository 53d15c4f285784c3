// Package activity writes down what an agent does with its servers.
package activity
