package consent_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/storage"
)

func exampleLaunch() *consent.Launch {
	return &consent.Launch{
		Server: "notes", Title: "notes", Source: "/home/ann/notes/.mcp.json:3", Project: "/home/ann/notes",
		Transport: "stdio", Path: "/usr/bin/npx", Args: []string{"-y", "notes-server", "--motto", "it's; rm -rf ~"},
		Dir: "/home/ann/notes", Env: []string{"NOTES_KEY=${NOTES_KEY}"},
	}
}

func Example() {
	ctx := context.Background()
	book, launch := consent.New(), exampleLaunch()
	verdict, err := book.Verdict(ctx, launch)
	if err != nil {
		panic(err)
	}
	fmt.Println(verdict)
	fmt.Println(launch)
	if err := book.Decide(ctx, "ann", launch, consent.Approved); err != nil {
		panic(err)
	}
	verdict, _ = book.Verdict(ctx, launch)
	fmt.Println(verdict)
	launch.Args[1] = "notes-servers"
	verdict, _ = book.Verdict(ctx, launch)
	fmt.Println("after a change:", verdict)
	// Output:
	// pending
	// cd /home/ann/notes && NOTES_KEY='${NOTES_KEY}' /usr/bin/npx -y notes-server --motto 'it'\''s; rm -rf ~'
	// # server notes
	// approved
	// after a change: pending
}

func ExampleOpen() {
	_, err := consent.Open("testdata/unsound.json")
	fmt.Println(err)
	// Output:
	// consents "testdata/unsound.json": it is not sound: it has no version; restore it, or remove it to be asked again about each server
}

func ExampleLoad() {
	ctx := context.Background()
	store := storage.NewMemory() // or that of a database, see package sqlstore
	ann, err := consent.Load(ctx, store, "consents")
	if err != nil {
		panic(err)
	}
	if err := ann.Decide(ctx, "ann", exampleLaunch(), consent.Approved); err != nil {
		panic(err)
	}
	bob, err := consent.Load(ctx, store, "consents") // another process, perhaps
	if err != nil {
		panic(err)
	}
	fmt.Println(bob.Verdict(ctx, exampleLaunch()))
	// Output: approved <nil>
}

func ExampleBook_Records() {
	ctx := context.Background()
	book := consent.New()
	if err := book.Decide(ctx, "ann", exampleLaunch(), consent.Rejected); err != nil {
		panic(err)
	}
	records, _ := book.Records(ctx)
	for _, r := range records {
		fmt.Println(r.By, r.Verdict, r.Target, "of", r.Project)
	}
	// Output:
	// ann rejected /usr/bin/npx of /home/ann/notes
}

func ExampleBook_Forget() {
	ctx := context.Background()
	book, launch := consent.New(), exampleLaunch()
	_ = book.Decide(ctx, "ann", launch, consent.Rejected)
	_ = book.Forget(ctx, launch.Fingerprint())
	fmt.Println(book.Verdict(ctx, launch))
	// Output:
	// pending <nil>
}

func ExampleLaunch_Fingerprint() {
	launch := exampleLaunch()
	launch.Source = "/home/ann/notes/.mcp.json:9"
	fmt.Println(launch.Fingerprint() == exampleLaunch().Fingerprint())
	// Output:
	// true
}
