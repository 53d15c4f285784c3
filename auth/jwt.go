package auth

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha256" // for crypto.Hash
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/nils"
)

// ParsePrivateKey reads a private key for [SigningKey] from PEM: PKCS #8
// ("PRIVATE KEY"), PKCS #1 ("RSA PRIVATE KEY") or SEC 1 ("EC PRIVATE KEY"), not
// encrypted. Blocks of other kinds before it, such as certificates, are skipped.
// Its errors show nothing of the text.
func ParsePrivateKey(text []byte) (crypto.Signer, error) {
	for {
		var block *pem.Block
		block, text = pem.Decode(text)
		if block == nil {
			return nil, errors.New("auth: no private key in PEM")
		}
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue
		}
		var key any
		var err error
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
			return nil, errors.New("auth: the private key is encrypted: decrypt it first")
		case block.Type == "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case block.Type == "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case block.Type == "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default:
			return nil, fmt.Errorf("auth: private keys of PEM type %q are not supported", block.Type)
		}
		signer, ok := key.(crypto.Signer)
		if err != nil || !ok {
			return nil, fmt.Errorf("auth: the PEM block %q holds no RSA, ECDSA or Ed25519 key", block.Type)
		}
		if _, err := algorithmOf(signer); err != nil {
			return nil, fmt.Errorf("auth: the private key cannot be used: %w", err)
		}
		return signer, nil
	}
}

// An algorithm is one of JSON Web Signature (RFC 7518, section 3.1; RFC 8037).
type algorithm struct {
	name string
	hash crypto.Hash // 0: the message itself is signed
	bits int         // of the curve; 0: it is not of ECDSA
}

// leastRSA is the least size of RSA keys in bits (RFC 7518, section 3.3).
const leastRSA = 2048

// algorithmOf returns the algorithm that fits a key. The errors go on after the name of a key.
func algorithmOf(signer crypto.Signer) (algorithm, error) {
	if nils.Is(signer) {
		return algorithm{}, errors.New("it is missing")
	}
	if key, ok := signer.(ed25519.PrivateKey); ok && len(key) != ed25519.PrivateKeySize {
		return algorithm{}, fmt.Errorf("it has %d bytes; an Ed25519 key has %d", len(key), ed25519.PrivateKeySize)
	}
	switch key := signer.Public().(type) {
	case *rsa.PublicKey:
		if key.N == nil || key.N.BitLen() < leastRSA {
			return algorithm{}, fmt.Errorf("it is an RSA key of less than %d bits", leastRSA)
		}
		return algorithm{name: "RS256", hash: crypto.SHA256}, nil
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return algorithm{"ES256", crypto.SHA256, 256}, nil
		case elliptic.P384():
			return algorithm{"ES384", crypto.SHA384, 384}, nil
		case elliptic.P521():
			return algorithm{"ES512", crypto.SHA512, 521}, nil
		}
		return algorithm{}, errors.New("it is of another curve than P-256, P-384 and P-521")
	case ed25519.PublicKey:
		return algorithm{name: "EdDSA"}, nil
	default:
		return algorithm{}, fmt.Errorf("it is of type %T; RSA, ECDSA and Ed25519 keys can be used", key)
	}
}

// sign returns the compact form of a signed JWT (RFC 7515, section 3.1). header
// gets the algorithm.
func (a algorithm) sign(signer crypto.Signer, header map[string]any, claims any) (string, error) {
	header["alg"] = a.name
	head, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	input := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(body)
	signature, err := a.signature(signer, []byte(input))
	if err != nil {
		return "", err
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func (a algorithm) signature(signer crypto.Signer, input []byte) ([]byte, error) {
	message := input
	if a.hash != 0 {
		h := a.hash.New()
		h.Write(input)
		message = h.Sum(nil)
	}
	signature, err := signer.Sign(rand.Reader, message, a.hash)
	if err != nil || a.bits == 0 {
		return signature, err
	}
	return rawSignature(signature, a.bits)
}

// rawSignature makes the form that JSON Web Signature wants of an ECDSA signature,
// r and s in as many bytes as the curve has (RFC 7518, section 3.4), of that which
// a crypto.Signer gives.
func rawSignature(der []byte, bits int) ([]byte, error) {
	var pair struct{ R, S *big.Int }
	rest, err := asn1.Unmarshal(der, &pair)
	if err != nil || len(rest) > 0 || pair.R.Sign() <= 0 || pair.S.Sign() <= 0 ||
		pair.R.BitLen() > bits || pair.S.BitLen() > bits {
		return nil, errors.New("the signer gave no ECDSA signature in ASN.1")
	}
	size := (bits + 7) / 8
	raw := make([]byte, 2*size)
	pair.R.FillBytes(raw[:size])
	pair.S.FillBytes(raw[size:])
	return raw, nil
}

// assertionLifetime is how long a client assertion is good. Some authorization servers
// take none for more than five minutes, by their own clocks.
const assertionLifetime = 4 * time.Minute

// check returns what is wrong with the key. The error goes on after its name.
func (k *SigningKey) check() error {
	_, err := algorithmOf(k.Signer)
	return err
}

// assertion returns a JWT by which a client authenticates itself (RFC 7523,
// sections 2.2 and 3). issuer is the authorization server, and the audience unless
// the key has another: its token endpoint, which RFC 7523 allows as well, can be
// that of another authorization server.
func (k *SigningKey) assertion(clientID, issuer string, now time.Time) (Secret, error) {
	a, err := algorithmOf(k.Signer)
	if err != nil {
		return "", fmt.Errorf("signing key: %w", err)
	}
	header := map[string]any{"typ": "JWT"}
	if k.ID != "" {
		header["kid"] = k.ID
	}
	token, err := a.sign(k.Signer, header, struct {
		Issuer   string `json:"iss"`
		Subject  string `json:"sub"`
		Audience string `json:"aud"`
		ID       string `json:"jti"`
		Issued   int64  `json:"iat"`
		Expires  int64  `json:"exp"`
	}{clientID, clientID, cmp.Or(k.Audience, issuer), rand.Text(), now.Unix(), now.Add(assertionLifetime).Unix()})
	if err != nil {
		return "", fmt.Errorf("signing the client's assertion: %w", err)
	}
	return Secret(token), nil
}
