package layers

import (
	"flag"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

const (
	root   = "../.." // of the repository, seen from this folder
	module = "github.com/mcpbelt/mcpbelt"
)

// By default only what is compiled for the core's own tests is looked at: other modules
// and other systems take minutes to compile, and are left to those who ask for them.
var (
	update      = flag.Bool("update", false, "rewrite the golden files in testdata")
	modulesFlag = flag.String("modules", ".", "the `folders` of the modules to load with the go command, or all")
	systemsFlag = flag.String("systems", runtime.GOOS, "the operating `systems` to load them for, or all")
)

// loadedModules returns the folders of the modules to load with the go command.
func loadedModules(t *testing.T) []string {
	t.Helper()
	all := allModules(t)
	if *modulesFlag == "all" {
		return all
	}
	folders := strings.Fields(*modulesFlag)
	for _, f := range folders {
		if !slices.Contains(all, f) {
			t.Fatalf("-modules: allmodules does not list %s", f)
		}
	}
	return folders
}

// loadedSystems returns the operating systems to load modules for.
func loadedSystems(t *testing.T) []string {
	t.Helper()
	if *systemsFlag == "all" {
		return systems()
	}
	chosen := strings.Fields(*systemsFlag)
	for _, s := range chosen {
		if !slices.Contains(systems(), s) {
			t.Fatalf("-systems: want some of %s, or all", strings.Join(systems(), ", "))
		}
	}
	return chosen
}

func TestMain(m *testing.M) {
	debug.SetGCPercent(50) // the source of the whole repository is in memory
	goleak.VerifyTestMain(m)
}

// report fails the test with every problem that a check found.
func report(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}
