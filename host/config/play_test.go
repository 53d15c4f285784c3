package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// play does the part of a test that is for a process of its own, and reports whether
// there is one.
func play() bool {
	part, arg, _ := strings.Cut(os.Getenv("CONFIG_TEST_ROLE"), " ")
	path, name, _ := strings.Cut(arg, "|")
	var err error
	switch part {
	case "":
		return false
	case "status":
		f := OpenStatusFile(path)
		for i := 0; i < 20 && err == nil; i++ {
			err = f.SaveStatuses(context.Background(), map[string]LastStatus{fmt.Sprint(name, i): {Status: StatusConnected, Tools: i}})
		}
	case "store":
		store := OpenFileStore(path, nil)
		for i := 0; i < 10 && err == nil; i++ {
			_, err = store.Save(context.Background(), "", &Record{Name: fmt.Sprint(name, i), Command: "x"}, "")
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
func count(store Store) error {
	for {
		s, err := FindRecord(context.Background(), store, "count")
		if err != nil {
			return err
		}
		r := *s.Record
		r.Description += "x"
		_, err = store.Save(context.Background(), "count", &r, s.Revision)
		if !errors.Is(err, &RecordError{Code: CodeConflict}) {
			return err
		}
	}
}
