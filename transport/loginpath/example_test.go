package loginpath_test

import (
	"context"
	"log"
	"os"

	"github.com/mcpbelt/mcpbelt/transport/loginpath"
)

// A desktop program finds the programs that the user's terminal finds.
func ExampleRead() {
	path, err := loginpath.Read(context.Background())
	if err != nil {
		log.Print(err) // and path is what it was
	}
	if err := os.Setenv("PATH", path); err != nil {
		log.Print(err)
	}
}
