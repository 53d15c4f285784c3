// Package keyringstore keeps the key that sessions are sealed with in the keyring of the operating system: the Keychain of macOS, the
// Credential Manager of Windows, the Secret Service on Linux (GNOME Keyring,
// KWallet). It is a module of its own.
//
// # Opening
//
// [Key] is the key source for filestore.Open, or for a store of another kind. The keyring holds
// 32 bytes under one name, whatever the number of sessions; some keyrings refuse more than a few
// kilobytes.
//
// # Secrets of config files
//
// [Secrets] reads and keeps single secrets in the keyring, under names of their own: it
// answers ${keyring:name} in the files that list servers, and remembers the answers to
// their inputs. See Options.Secrets of package host/config.
//
// # When there is no keyring
//
// On servers and in containers there often is none. Then to open a store fails with a
// *seal.KeyError, and sessions are not kept less safely than was asked for. The
// program decides what comes next: seal.KeyFile or seal.KeyEnv.
//
// # Waiting
//
// A locked keyring asks the user for a password, for an unknown time. A
// call waits for it until its context ends, and for a minute at most. A request to the
// keyring cannot be stopped: one goroutine for each source stays until the keyring
// answers.
//
// # Replacing the key
//
// Put a new key, base64 of 32 random bytes, and a comma before what the entry "session keys" holds, with
// the tool of the keyring. seal.Store.Rotate seals all again. When each program that uses the store
// was restarted or has called Rotate, take the others away.
//
// It is tested with the keyring's own stand-in and with a bus that does not answer,
// on Linux. It has not been run with real keyrings of macOS and Windows.
package keyringstore
