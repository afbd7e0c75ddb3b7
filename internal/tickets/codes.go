package tickets

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// A code is these bytes in the alphabet of RFC 4648's base32:
//
//	version  1   1
//	key      8   the beginning of the SHA-256 of the public key
//	ticket  16
//	show    16
//	sign    64   Ed25519, of the domain and all that stands before
//
// 105 bytes are 168 characters, with no padding and no spare bits, so that a
// ticket has one code and a code one spelling. Base32 was chosen over base45,
// which would save 16 characters and one size of the QR code (41 modules a
// side rather than 45): its A to Z and 2 to 7 are in QR's alphanumeric mode
// too, but survive in addition a URL, a shell, a trimmed line and a person who
// reads them out, and every language's library decodes them.
const (
	codeVersion  = 1
	keyIDSize    = 8
	claimsSize   = 1 + keyIDSize + 16 + 16
	codeSize     = claimsSize + ed25519.SignatureSize
	codeLength   = codeSize * 8 / 5
	seedsMax     = 16
	seedExpected = "32 bytes in base64 or hex"
)

// domain is signed along, so that no signature made by the same key for
// anything else can ever pass for a ticket.
const domain = "rowlock ticket\x00"

var alphabet = base32.StdEncoding.WithPadding(base32.NoPadding)

// Why [Verify] refuses a code. [ErrVersion] and [ErrUnknownKey] may be the
// sign of a scanner that needs new software or fresh keys; the others are of a
// code that was misread or made up.
var (
	ErrMalformed  = errors.New("not a ticket code")
	ErrVersion    = errors.New("a ticket code of a version that is not known here")
	ErrUnknownKey = errors.New("signed with a key that is not known here")
	ErrForged     = errors.New("the signature is not valid")
)

// Claims are what a code says.
type Claims struct {
	TicketID uuid.UUID `json:"ticketId"`
	ShowID   uuid.UUID `json:"showId"`
}

// Key is a public key as RFC 8037 writes it in a JSON Web Key.
type Key struct {
	KeyType   string `json:"kty" enum:"OKP" doc:"Always OKP."`
	Curve     string `json:"crv" enum:"Ed25519" doc:"Always Ed25519."`
	KeyID     string `json:"kid" doc:"The first eight bytes of the SHA-256 of the public key, in hex: what a code names its key by."`
	X         string `json:"x" doc:"The public key, 32 bytes in base64url without padding."`
	Use       string `json:"use" enum:"sig" doc:"Always sig."`
	Algorithm string `json:"alg" enum:"EdDSA" doc:"Always EdDSA."`
}

// Keys is the document in which the keys are published: a JSON Web Key Set.
// The first key is the one that signs today.
type Keys struct {
	Keys []Key `json:"keys"`
}

// Signer signs codes with its first key and verifies those of all its keys.
// It is safe for concurrent use.
type Signer struct {
	private ed25519.PrivateKey
	header  [1 + keyIDSize]byte
	keys    Keys
}

// NewSigner makes a signer of Ed25519 seeds of 32 bytes each, from 1 to 16.
// The first one signs. A key is rotated by putting its successor before it; it
// stays in the list for as long as there are tickets with its signature.
func NewSigner(seeds [][]byte) (*Signer, error) {
	if len(seeds) == 0 {
		return nil, errors.New("tickets: no key to sign with")
	}
	if len(seeds) > seedsMax {
		return nil, fmt.Errorf("tickets: %d keys, at most %d", len(seeds), seedsMax)
	}
	s := &Signer{}
	for i, seed := range seeds {
		if len(seed) != ed25519.SeedSize {
			return nil, fmt.Errorf("tickets: key %d has %d bytes, want %s", i+1, len(seed), seedExpected)
		}
		if bytes.Count(seed, seed[:1]) == len(seed) {
			return nil, fmt.Errorf("tickets: key %d is one byte over and over: make one with openssl rand -base64 32", i+1)
		}
		private := ed25519.NewKeyFromSeed(seed)
		public := private.Public().(ed25519.PublicKey)
		id := keyID(public)
		key := Key{
			KeyType: "OKP", Curve: "Ed25519", Use: "sig", Algorithm: "EdDSA",
			KeyID: hex.EncodeToString(id),
			X:     base64.RawURLEncoding.EncodeToString(public),
		}
		if slices.Contains(s.keys.Keys, key) {
			return nil, fmt.Errorf("tickets: key %d is there twice", i+1)
		}
		s.keys.Keys = append(s.keys.Keys, key)
		if i == 0 {
			s.private = private
			s.header[0] = codeVersion
			copy(s.header[1:], id)
		}
	}
	return s, nil
}

func keyID(public ed25519.PublicKey) []byte {
	sum := sha256.Sum256(public)
	return sum[:keyIDSize]
}

// ParseSeeds reads seeds as a setting has them: separated by commas, each of
// 32 bytes in hex or in base64 (either alphabet, with or without padding). Its
// errors say which seed is wrong and never what it is.
func ParseSeeds(text string) ([][]byte, error) {
	var seeds [][]byte
	for i, field := range strings.Split(text, ",") {
		seed, ok := parseSeed(strings.TrimSpace(field))
		if !ok {
			return nil, fmt.Errorf("key %d of the list is not %s", i+1, seedExpected)
		}
		seeds = append(seeds, seed)
	}
	return seeds, nil
}

func parseSeed(field string) (seed []byte, ok bool) {
	if len(field) == hex.EncodedLen(ed25519.SeedSize) {
		seed, err := hex.DecodeString(field)
		return seed, err == nil
	}
	field = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(field, "="))
	seed, err := base64.RawStdEncoding.DecodeString(field)
	return seed, err == nil && len(seed) == ed25519.SeedSize
}

// Keys are the public keys, for whoever verifies codes without this server.
func (s *Signer) Keys() Keys {
	return Keys{Keys: slices.Clone(s.keys.Keys)}
}

// Code is the code of a ticket: 168 characters of A to Z and 2 to 7. The same
// claims and key always give the same code.
func (s *Signer) Code(c Claims) string {
	code := make([]byte, 0, codeSize)
	code = append(code, s.header[:]...)
	code = append(code, c.TicketID[:]...)
	code = append(code, c.ShowID[:]...)
	code = append(code, ed25519.Sign(s.private, signed(code))...)
	return alphabet.EncodeToString(code)
}

// Verify is [Verify] with the signer's own keys.
func (s *Signer) Verify(code string) (Claims, error) {
	return Verify(s.keys, code)
}

// Verify reads a code and says what it claims, if one of the keys has signed
// it. It needs nothing but the published keys. Small letters are read like
// capitals; nothing else about the spelling is free. Errors are
// [ErrMalformed], [ErrVersion], [ErrUnknownKey] and [ErrForged].
func Verify(keys Keys, code string) (Claims, error) {
	if len(code) != codeLength {
		return Claims{}, fmt.Errorf("%w: %d characters, want %d", ErrMalformed, len(code), codeLength)
	}
	// By hand, since ToUpper makes letters of other alphabets into these too,
	// and the decoder passes over line breaks.
	upper := []byte(code)
	for i, c := range upper {
		switch {
		case 'a' <= c && c <= 'z':
			upper[i] -= 'a' - 'A'
		case 'A' <= c && c <= 'Z' || '2' <= c && c <= '7':
		default:
			return Claims{}, fmt.Errorf("%w: only A to Z and 2 to 7 are in one", ErrMalformed)
		}
	}
	raw, err := alphabet.DecodeString(string(upper))
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if raw[0] != codeVersion {
		return Claims{}, fmt.Errorf("%w: %d", ErrVersion, raw[0])
	}
	id := hex.EncodeToString(raw[1 : 1+keyIDSize])
	at := slices.IndexFunc(keys.Keys, func(k Key) bool { return k.KeyID == id })
	if at < 0 {
		return Claims{}, fmt.Errorf("%w: %s", ErrUnknownKey, id)
	}
	public, err := base64.RawURLEncoding.DecodeString(keys.Keys[at].X)
	if err != nil || len(public) != ed25519.PublicKeySize {
		return Claims{}, fmt.Errorf("%w: %s is no Ed25519 key", ErrUnknownKey, id)
	}
	if !ed25519.Verify(public, signed(raw[:claimsSize]), raw[claimsSize:]) {
		return Claims{}, ErrForged
	}
	var c Claims
	copy(c.TicketID[:], raw[1+keyIDSize:])
	copy(c.ShowID[:], raw[1+keyIDSize+16:])
	return c, nil
}

func signed(claims []byte) []byte {
	return append([]byte(domain), claims...)
}
