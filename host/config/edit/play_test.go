package edit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/record"
)

// play does the part of a test that is for a process of its own, and reports whether
// there is one.
func play() bool {
	part, arg, _ := strings.Cut(os.Getenv("EDIT_TEST_ROLE"), " ")
	path, name, _ := strings.Cut(arg, "|")
	var err error
	switch part {
	case "":
		return false
	case "store":
		store := OpenFileStore(path, nil)
		for i := 0; i < 10 && err == nil; i++ {
			_, err = store.Save(context.Background(), "", &record.Record{Name: fmt.Sprint(name, i), Command: "x"}, "")
			if err == nil {
				err = count(store)
			}
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return true
}

// count adds one to the description of the record "count".
func count(store record.Store) error {
	for {
		s, err := record.Find(context.Background(), store, "count")
		if err != nil {
			return err
		}
		r := *s.Record
		r.Description += "x"
		_, err = store.Save(context.Background(), "count", &r, s.Revision)
		if !errors.Is(err, &record.Error{Code: record.CodeConflict}) {
			return err
		}
	}
}
