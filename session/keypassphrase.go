package session

import (
	"context"
	"sync"

	"golang.org/x/crypto/argon2"

	"github.com/mcpbelt/mcpbelt/auth"
)

// The cost of a guess at a passphrase, as RFC 9106 recommends it where memory is
// not plenty (section 4, second option). Changing it makes other keys.
const (
	argonTime    = 3
	argonMemory  = 64 << 10 // KiB
	argonThreads = 4
)

// KeyPassphrase makes a key of a passphrase and the salt of the store, by Argon2id
// with 3 passes, 64 MiB and 4 lanes (RFC 9106). That takes some tenths of a second
// and is done once for each store. Who can copy the store can try passphrases on
// his own machines: take a long one that nobody else uses.
//
// To replace the passphrase, give the new one, and the one before among old, until
// [Store.Rotate] has run. Each costs as much as the first.
func KeyPassphrase(pass auth.Secret, old ...auth.Secret) KeySource {
	p := &phrases{all: append([]auth.Secret{pass}, old...), made: map[string]*SealingKeys{}}
	return p.keys
}

// phrases are passphrases and what was made of them.
type phrases struct {
	all []auth.Secret

	mu   sync.Mutex
	made map[string]*SealingKeys // by salt
}

func (p *phrases) keys(ctx context.Context, salt []byte) (*SealingKeys, error) {
	p.mu.Lock()
	made := p.made[string(salt)]
	p.mu.Unlock()
	if made != nil {
		return made.clone(), nil
	}
	var all []auth.Secret
	for _, phrase := range p.all {
		if phrase == "" {
			return nil, &KeyError{Source: "a passphrase", Problem: "it is empty"}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		key := argon2.IDKey([]byte(phrase.Reveal()), salt, argonTime, argonMemory, argonThreads, KeySize)
		all = append(all, auth.Secret(key))
	}
	made = &SealingKeys{Current: all[0], Old: all[1:]}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made[string(salt)] = made
	return made.clone(), nil
}
