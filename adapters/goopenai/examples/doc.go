// Package examples holds the agents of docs/getting-started.md, and runs them in its test.
package examples
