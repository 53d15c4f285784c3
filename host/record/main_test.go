package record

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if play() {
		return
	}
	goleak.VerifyTestMain(m)
}

// play does the part of a test that is for a process of its own, and reports whether
// there is one.
func play() bool {
	part, arg, _ := strings.Cut(os.Getenv("RECORD_TEST_ROLE"), " ")
	if part != "status" {
		return false
	}
	path, name, _ := strings.Cut(arg, "|")
	f := OpenStatusFile(path)
	for i := range 20 {
		err := f.SaveStatuses(context.Background(), map[string]LastStatus{fmt.Sprint(name, i): {Status: StatusConnected, Tools: i}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	return true
}
