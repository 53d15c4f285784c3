// Package layers holds the checks that keep the source tree in shape. It has
// tests only; `go test ./internal/layers` runs them:
//
//   - every import points to a lower floor of the house, the WHO wing and the
//     WHAT wing meet in host alone, and no production code imports a test kit
//     (floors_test.go holds the table; a new package needs a line there);
//   - no file of a package that declares an order in its doc.go names what stands in a file
//     above it;
//   - the modules that the library links and the modules that it requires
//     (testdata/deps.golden), and that all can be released together;
//   - the exported API (testdata/api.golden);
//   - the number of places that start a goroutine (testdata/goroutines.golden);
//   - no init functions, no mutable package-level variables;
//   - a leak check in every package that has tests, and no test that sleeps;
//   - comments on packages and on everything exported;
//   - the table of docs/adapters.md, and that the code in the pages of the adapters
//     stands in their examples;
//   - file sizes, file names, and no paths of one machine in any text.
//
// The golden files are rewritten by `make api`. Read their diff: it is what
// users of the library will notice.
package layers
