// Package release tests that the modules of this repository can be released, and that
// a program elsewhere can use what was released. It has tests only.
//
// All of them have the build tag release. TestStrangers has the script .ci/release make a
// module proxy of the files as they stand, and for each module has a program get the module
// from there, as that of a stranger does: in a folder of its own, with go get, without replace.
// All packages of the module are loaded; the programs in testdata, and the command, are built
// and run.
//
//	go test -tags release -v -timeout 60m ./internal/release
//
// TestInstallLines runs the lines with go get that stand in the pages.
//
// What a release offers of the command (.ci/package) is made twice if MCPBELT_FULL is set, and
// has to be the same bytes; then the program of its image runs as the user that the image names.
//
// The programs are in testdata, in folders named after those of the modules. The last
// line of each is a comment with what it prints. The variable MODULES of the environment
// limits the test to the modules of these folders, which the file allmodules lists.
package release
