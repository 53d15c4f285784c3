// Package configtest has what the tests of config formats share: [CheckParsed] for whatever
// was read.
package configtest
