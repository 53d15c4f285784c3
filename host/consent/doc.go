// Package consent remembers which servers of somebody else's configuration the user
// allows to be started.
//
// A config file that lies in a project's folder was perhaps written by a stranger,
// and an entry of it names a program that would run with all that the user may do.
// So a [Launch] says what starting a server means, exactly, and a [Book] keeps what
// a person has decided about it:
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
// the files that they are read from. If anything of it changes, if only because a folder
// was put in front of PATH, nothing was decided.
//
// What a reference such as ${TOKEN} stands for on this machine is not part of it: a token
// that is renewed asks nobody. A literal is, to the last character; a literal secret is
// shown masked. docs/security.md lists each field of an entry with what its change means.
//
// It does not count for what the program is made of. A program or script that lies in
// the project may be another one tomorrow under the same path, and so may what a
// symbolic link leads to, what an interpreter line names, and the modules that are
// loaded. Who approves "npx -y package" or an image without a digest approves whatever
// the registry has under that name at each start: have a version, or a digest, written
// into the entry.
//
// A rejection stops what runs, in all programs that share the book. Forget does not:
// it makes the next start ask.
//
// # What is kept
//
// The file, or the [Store], holds of each decision the fingerprint, who decided and
// when, and what the server was called. It does not hold arguments, or more of a URL
// than its host: they may hold secrets. Several processes may share it. A file that
// is not sound is an error, and approves nothing; it is never taken for empty.
//
// The package has no goroutines and holds nothing open.
package consent
