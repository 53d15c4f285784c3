package seal

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/crypto/chacha20poly1305"
)

// A sealed record is a header and what XChaCha20-Poly1305 makes of the data. The
// header:
//
//	4 bytes   "mbss"
//	1 byte    version of the format, 1
//	8 bytes   id of the key
//	8 bytes   generation, big endian
//	1 byte    0; readers ignore it
//	24 bytes  nonce
//
// The additional data are the purpose, the name of the record and the header: what
// was sealed under one name, or as one generation, opens as no other.
const (
	sealMagic   = "mbss"
	sealVersion = 1

	atVersion    = len(sealMagic)
	atKey        = atVersion + 1
	atGeneration = atKey + keyIDSize
	atNonce      = atGeneration + 8 + 1
	sealHeader   = atNonce + chacha20poly1305.NonceSizeX

	keyIDSize = 8
)

// A purpose keeps what is sealed for one use from being opened for another.
type purpose string

const (
	forRecord purpose = "mcpbelt session record"
	forCheck  purpose = "mcpbelt session key check"
)

// A keyID names a key without giving it away.
type keyID [keyIDSize]byte

// A keyset seals with one key and opens with several. It is never changed.
type keyset struct {
	current keyID
	ciphers map[keyID]cipher.AEAD
}

// newKeyset returns the keyset of keys, which have the right length.
func newKeyset(k *Keys) *keyset {
	ks := &keyset{current: idOf(k.Current.Reveal()), ciphers: map[keyID]cipher.AEAD{}}
	for _, key := range slices.Insert(slices.Clone(k.Old), 0, k.Current) {
		if c, err := chacha20poly1305.NewX([]byte(key.Reveal())); err == nil { // Keys.check has seen to the length
			ks.ciphers[idOf(key.Reveal())] = c
		}
	}
	return ks
}

func idOf(key string) keyID {
	sum := sha256.Sum256([]byte("mcpbelt sealing key id\x00" + key))
	return keyID(sum[:])
}

// additional returns the additional data of a record.
func additional(use purpose, name string, header []byte) []byte {
	data := make([]byte, 0, len(use)+len(name)+len(header)+2)
	data = append(append(data, use...), 0)
	data = append(append(data, name...), 0) // names have no zero bytes
	return append(data, header...)
}

// opened is what was sealed.
type opened struct {
	data       []byte
	generation uint64
}

// seal seals a record with the current key.
func (ks *keyset) seal(use purpose, name string, o opened) []byte {
	sealed := make([]byte, sealHeader, sealHeader+len(o.data)+chacha20poly1305.Overhead)
	copy(sealed, sealMagic)
	sealed[atVersion] = sealVersion
	copy(sealed[atKey:], ks.current[:])
	binary.BigEndian.PutUint64(sealed[atGeneration:], o.generation)
	nonce := sealed[atNonce:sealHeader]
	_, _ = rand.Read(nonce) // never fails
	return ks.ciphers[ks.current].Seal(sealed, nonce, o.data, additional(use, name, sealed))
}

// ErrFormat is wrapped by a [CorruptError] about a record that another version of this
// package may be able to open.
//
//cure:use the newer release that wrote the record
var ErrFormat = errors.New("seal: another format")

// keyOf returns which key a record was sealed with. The error is a
// *CorruptError.
func keyOf(name string, sealed []byte) (keyID, error) {
	switch {
	case len(sealed) < sealHeader+chacha20poly1305.Overhead || !bytes.HasPrefix(sealed, []byte(sealMagic)):
		return keyID{}, &CorruptError{name: name, problem: "it is not a sealed record"}
	case sealed[atVersion] != sealVersion:
		return keyID{}, &CorruptError{name: name, err: ErrFormat, problem: fmt.Sprintf(
			"it has format %d, and this program knows only %d", sealed[atVersion], sealVersion)}
	}
	return keyID(sealed[atKey:]), nil
}

// open opens a record. The error is a *CorruptError, or a *KeyError if the key
// is unknown.
func (ks *keyset) open(use purpose, name string, sealed []byte) (opened, error) {
	id, err := keyOf(name, sealed)
	if err != nil {
		return opened{}, err
	}
	c, ok := ks.ciphers[id]
	if !ok {
		return opened{}, &KeyError{record: name, Problem: "it is sealed with a key that the key source does not return; if the key was replaced, return it as an old one"}
	}
	header := sealed[:sealHeader]
	data, err := c.Open(nil, header[atNonce:], sealed[sealHeader:], additional(use, name, header))
	if err != nil {
		return opened{}, &CorruptError{name: name, problem: "it was altered, or belongs elsewhere"}
	}
	return opened{data: data, generation: binary.BigEndian.Uint64(header[atGeneration:])}, nil
}
