// Package consent keeps which launches of servers a user has allowed, for config files
// that others may have written.
//
// A config file in a project's folder was perhaps written by a stranger, and an entry of
// it names a program that would run with all rights of the user. So a [Launch] says
// exactly what starting a server means, and a [Book] keeps what a person has decided
// about it:
//
//	verdict, err := book.Verdict(ctx, launch)
//	if err != nil || verdict != consent.Approved {
//		fmt.Println(launch) // the whole command, for the person who decides
//	}
//	err = book.Decide(ctx, "ann", launch, consent.Approved)
//
// # What a decision is bound to
//
// A decision counts for one [Launch.Fingerprint]: the project's folder, the name of the
// server, by which policies know it, on whose behalf it is connected to, and which of its
// tools are used; the absolute program, its arguments, folder and confinement, or the URL
// and the login; and all variables and headers as they are written, with the content of
// the files that they are read from. If any of it changes, if only because a folder
// was put in front of PATH, there is no decision.
//
// The value of a reference such as ${TOKEN} on this machine is not part of it: a renewed
// token causes no question. A literal is part of it, to the last character; a literal
// secret is shown masked. docs/security.md lists each field of an entry with what its
// change means.
//
// The decision does not cover what the program is made of. A program or script in the
// project may be another one tomorrow under the same path, and so may the target of a
// symbolic link, the interpreter that a script names, and the modules that are loaded. A
// user who allows "npx -y package" or an image without a digest allows whatever the
// registry has under that name at each start: write a version, or a digest, into the
// entry.
//
// A rejection stops the server in all programs that share the book. Forget does not: it
// makes the next start ask.
//
// # What is kept
//
// The file, or the record of a [storage.Store], holds the fingerprint of each decision, the name of the
// person, the time, and the name of the server. It does not hold arguments, or more of a
// URL than its host: they may hold secrets. Several processes may share it. A damaged
// file is an error, and allows nothing; it is never taken for empty.
//
// The package has no goroutines and holds nothing open.
package consent
