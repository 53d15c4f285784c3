// Package configtest has what the tests of config formats share: [Describe] for golden
// files, [CheckParsed] for whatever was read, [EditFaults] for what an edit changes, and
// [CheckPage] for the table of a page.
package configtest
