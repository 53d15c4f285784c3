// Package filestore keeps sessions in files: one folder, one sealed file for each
// session, for as many processes of one machine as want to share it.
//
// # Opening
//
// [Open] makes the folder if there is none and returns a *seal.Store for a
// session.Manager. [Options] say where the sealing keys come from. Without any,
// the key is in the folder, too, like a private key of ssh; then the files are
// safe from being altered or mixed up, but not from readers of the folder.
// Package session/keyringstore puts the key into the keyring of the operating
// system.
//
// # What is promised
//
// A record is replaced whole or not at all: it is written beside, synced, renamed,
// and its folder is synced. A process that is killed at any moment, and a loss of
// power, leave the state before or the state after. No writer overwrites what it has
// not seen: a record is replaced under a lock that all processes ask for, and only
// if it is what the writer read.
//
// Each file has a checksum. A file that is not what was written is moved to the folder
// "damaged", never deleted or overwritten, the logger reports it, and the user has to
// log in again.
//
// A full disk, a folder that is read-only and the like are an *[Error], and leave
// the old state.
//
// # The folder
//
//	records/xx/0,NAME  a record; xx is the first byte of the SHA-256 of NAME
//	locks/             what processes lock: 256 files for the folders of records,
//	                   and one empty file for each record that was ever locked
//	tmp/               files that are being written
//	damaged/           files that were moved aside
//	key                the sealing keys, if Options name no others
//
// The folder belongs to one user (mode 0700, files 0600) and has to be on a local
// file system: on network file systems, locks and atomic renames are often not what
// they should be.
//
// It is tested on Linux. For macOS and Windows it is compiled and vetted, and has
// not been run; Windows offers no way to sync a folder, and the folder's access
// list is not checked there.
package filestore
