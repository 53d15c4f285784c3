package filestore

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/storage"
)

// A file holds one record:
//
//	4 bytes   "mbfs"
//	1 byte    version of the format, 1
//	1 byte    0; readers ignore it
//	16 bytes  revision, random
//	1 byte    length of the name
//	          name
//	4 bytes   length of the data, big endian
//	          data
//	32 bytes  SHA-256 of all before, in every version
const (
	fileMagic   = "mbfs"
	fileVersion = 1

	atVersion  = len(fileMagic)
	atRevision = atVersion + 2
	atName     = atRevision + revisionSize

	revisionSize = 16
	minFile      = atName + 1 + 4 + sha256.Size
	maxFile      = minFile + storage.MaxName + storage.MaxData
)

// errNewer reports a sound file that this version of the package cannot read.
var errNewer = errors.New("it was written by a later version of this library: update this program")

// damage says what is wrong with a file. It shows nothing of what is in it.
type damage string

func (d damage) Error() string { return string(d) }

// encode returns the file of a record, with a new revision.
func encode(name string, data []byte) (file []byte, at storage.Revision) {
	file = make([]byte, atName, minFile+len(name)+len(data))
	copy(file, fileMagic)
	file[atVersion] = fileVersion
	_, _ = rand.Read(file[atRevision:atName]) // never fails
	at = revisionOf(file)
	file = append(file, byte(len(name)))
	file = append(file, name...)
	file = binary.BigEndian.AppendUint32(file, uint32(len(data)))
	file = append(file, data...)
	return sum(file), at
}

// sum appends the checksum.
func sum(body []byte) []byte {
	s := sha256.Sum256(body)
	return append(body, s[:]...)
}

func revisionOf(file []byte) storage.Revision {
	return storage.Revision(hex.EncodeToString(file[atRevision:atName]))
}

// decode returns the record that a file holds. The error is a damage, or errNewer.
func decode(name string, file []byte) (storage.Record, error) {
	if len(file) < minFile {
		return storage.Record{}, damage(fmt.Sprintf("it has only %d bytes", len(file)))
	}
	body := file[:len(file)-sha256.Size]
	switch s := sha256.Sum256(body); {
	case !bytes.Equal(s[:], file[len(body):]):
		return storage.Record{}, damage("its checksum does not match")
	case !bytes.HasPrefix(body, []byte(fileMagic)):
		return storage.Record{}, damage("it is not the file of a record")
	case body[atVersion] != fileVersion:
		return storage.Record{}, errNewer
	}
	n := int(body[atName])
	rest := body[atName+1:]
	if len(rest) < n+4 || string(rest[:n]) != name {
		return storage.Record{}, damage("it is the file of another record")
	}
	size := binary.BigEndian.Uint32(rest[n:])
	data := rest[n+4:]
	if uint64(len(data)) != uint64(size) {
		return storage.Record{}, damage("its length does not match")
	}
	return storage.Record{Data: data[:len(data):len(data)], Revision: revisionOf(file)}, nil
}
