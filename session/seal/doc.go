// Package seal keeps records sealed: encrypted, and bound to their names, with keys that
// are kept elsewhere.
//
// # Opening a store
//
// [NewStore] makes a [Store] over a driver. Package session/filestore does that for files,
// package session/keyringstore for files and a key in the keyring of the operating
// system, and session.Memory for a store that ends with the program. A session.Manager
// keeps the logins of users there.
//
// # Where the sealing keys come from
//
// A [KeySource] returns them: [KeyFile] a file, which it makes if there is none, [KeyEnv]
// an environment variable, and [StaticKey] the program itself. With [ParseKeys], the answer of a key management service becomes a source. The
// error of a source is a [KeyError].
//
// # What sealing promises
//
// An attacker who has the records and not the key can read nothing of them and forge nothing, but
// can delete them and bring older ones back. Names, sizes and times are not hidden.
//
// # Replacing a key
//
// Let the source return the new key as the current one and the old key among the old
// ones, in every process; call [Store.Rotate] in one; take the old key away.
package seal
