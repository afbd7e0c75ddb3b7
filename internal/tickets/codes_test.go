package tickets_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/tickets"
)

func seed(first byte) []byte {
	s := make([]byte, ed25519.SeedSize)
	for i := range s {
		s[i] = first + byte(i)
	}
	return s
}

func signer(t testing.TB, firsts ...byte) *tickets.Signer {
	t.Helper()
	var seeds [][]byte
	for _, f := range firsts {
		seeds = append(seeds, seed(f))
	}
	s, err := tickets.NewSigner(seeds)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var claims = tickets.Claims{
	TicketID: uuid.MustParse("0197a2b4-3c5d-7e6f-8a9b-0c1d2e3f4a5b"),
	ShowID:   uuid.MustParse("0197a2b4-0000-7000-8000-00000000cafe"),
}

// code1 is what seed(1) makes of claims: it pins the format, since tickets
// that were printed years ago must still open the door.
const code1 = "AFS3MBTT23WYQSYBS6RLIPC5PZXYVGYMDUXD6SS3AGL2FNAAABYABAAAAAAAAAGK73GGL72CZN7NNYV7PVPEOG74CCJ4BVIN3FCSUJOP57X52HL34DVH25SAH7DYQAINKLV4PZZYP7ONBZFOBCUWW6D6EK5RVSG6SGAMNKAA"

func TestACodeStaysWhatItWasWhenTheTicketWasPrinted(t *testing.T) {
	t.Parallel()
	if code := signer(t, 1).Code(claims); code != code1 {
		t.Errorf("the code is\n%s, was\n%s", code, code1)
	}
}

func TestACodeIsVerifiedWithThePublishedKeysAlone(t *testing.T) {
	t.Parallel()
	document, err := json.Marshal(signer(t, 1, 2).Keys())
	if err != nil {
		t.Fatal(err)
	}
	var keys tickets.Keys
	if err := json.Unmarshal(document, &keys); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]string{
		"as made":                code1,
		"in small letters":       strings.ToLower(code1),
		"signed by the old key":  signer(t, 2).Code(claims),
		"signed before rotation": signer(t, 1).Code(claims),
	} {
		got, err := tickets.Verify(keys, code)
		if err != nil || got != claims {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestTheKeysAreAJSONWebKeySetWithoutTheSecret(t *testing.T) {
	t.Parallel()
	document, err := json.Marshal(signer(t, 1).Keys())
	if err != nil {
		t.Fatal(err)
	}
	public := ed25519.NewKeyFromSeed(seed(1)).Public().(ed25519.PublicKey)
	want := `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"65b60673d6ed884b","x":"` +
		base64.RawURLEncoding.EncodeToString(public) + `","use":"sig","alg":"EdDSA"}]}`
	if string(document) != want {
		t.Errorf("%s\nwant %s", document, want)
	}
}

func TestOneAlteredByteIsEnoughToBeRefused(t *testing.T) {
	t.Parallel()
	s := signer(t, 1)
	encoding := base32.StdEncoding.WithPadding(base32.NoPadding)
	raw, err := encoding.DecodeString(code1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		want := tickets.ErrForged
		switch {
		case i == 0:
			want = tickets.ErrVersion
		case i < 9:
			want = tickets.ErrUnknownKey
		}
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			altered := bytes.Clone(raw)
			altered[i] ^= flip
			if _, err := s.Verify(encoding.EncodeToString(altered)); !errors.Is(err, want) {
				t.Errorf("byte %d ^ %#x: %v, want %v", i, flip, err, want)
			}
		}
	}
}

func TestWhatIsNoCodeIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	s := signer(t, 1)
	other := tickets.Claims{TicketID: claims.TicketID, ShowID: uuid.MustParse("0197a2b4-0000-7000-8000-00000000beef")}
	otherCode := s.Code(other)
	// The same bytes signed without the domain, as another program with the same key would.
	encoding := base32.StdEncoding.WithPadding(base32.NoPadding)
	raw, _ := encoding.DecodeString(code1)
	undomained := append(bytes.Clone(raw[:41]), ed25519.Sign(ed25519.NewKeyFromSeed(seed(1)), raw[:41])...)
	// S + L verifies in lax implementations and would be a second code of the ticket.
	malleable := bytes.Clone(raw)
	order := []byte{0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 31: 0x10}
	carry := 0
	for i, b := range order {
		sum := int(malleable[73+i]) + int(b) + carry
		malleable[73+i], carry = byte(sum), sum>>8
	}
	for _, c := range []struct {
		name, code string
		want       error
	}{
		{"nothing", "", tickets.ErrMalformed},
		{"an id", claims.TicketID.String(), tickets.ErrMalformed},
		{"one character short", code1[:len(code1)-1], tickets.ErrMalformed},
		{"one character long", code1 + "A", tickets.ErrMalformed},
		{"with a space before", " " + code1, tickets.ErrMalformed},
		{"with its last character a space", code1[:len(code1)-1] + " ", tickets.ErrMalformed},
		{"with a line break for eight characters", code1[:80] + "\r\n\r\n\r\n\r\n" + code1[88:], tickets.ErrMalformed},
		{"a zero for an O", code1[:9] + "0" + code1[10:], tickets.ErrMalformed},
		{"padded", code1[:160] + "========", tickets.ErrMalformed},
		{"letters that are capitals of ASCII ones elsewhere", code1[:len(code1)-2] + "ı", tickets.ErrMalformed},
		{"signed by a stranger", signer(t, 7).Code(claims), tickets.ErrUnknownKey},
		{"the signature of another show's ticket", code1[:64] + otherCode[64:], tickets.ErrForged},
		{"signed for something else", encoding.EncodeToString(undomained), tickets.ErrForged},
		{"the same signature in another spelling", encoding.EncodeToString(malleable), tickets.ErrForged},
	} {
		if got, err := s.Verify(c.code); !errors.Is(err, c.want) || got != (tickets.Claims{}) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestAKeyThatWasPublishedBrokenVerifiesNothing(t *testing.T) {
	t.Parallel()
	for _, x := range []string{"", "AAAA", "!"} {
		keys := signer(t, 1).Keys()
		keys.Keys[0].X = x
		if _, err := tickets.Verify(keys, code1); !errors.Is(err, tickets.ErrUnknownKey) {
			t.Errorf("x %q: %v", x, err)
		}
	}
}

func TestSeedsAreReadInEveryUsualSpelling(t *testing.T) {
	t.Parallel()
	// The first byte makes base64 spell it with a slash or, URL-safe, an underscore.
	one, two := seed(0xff), seed(2)
	for _, text := range []string{
		hex.EncodeToString(one) + "," + hex.EncodeToString(two),
		strings.ToUpper(hex.EncodeToString(one)) + " , " + base64.StdEncoding.EncodeToString(two) + "\n",
		base64.StdEncoding.EncodeToString(one) + "," + base64.RawStdEncoding.EncodeToString(two),
		base64.URLEncoding.EncodeToString(one) + "," + base64.RawURLEncoding.EncodeToString(two),
	} {
		seeds, err := tickets.ParseSeeds(text)
		if err != nil || len(seeds) != 2 || !bytes.Equal(seeds[0], one) || !bytes.Equal(seeds[1], two) {
			t.Errorf("%s: %x, %v", text, seeds, err)
		}
	}
}

func TestSeedsThatAreNoneAreRefusedWithoutBeingShown(t *testing.T) {
	t.Parallel()
	good := hex.EncodeToString(seed(1))
	for _, bad := range []string{"", "secret", "secret" + good, good[:62], good[:63] + "g", base64.StdEncoding.EncodeToString(seed(1)[:31])} {
		_, err := tickets.ParseSeeds(good + "," + bad)
		if err == nil {
			t.Errorf("%q is taken", bad)
		} else if want := "key 2 of the list is not 32 bytes in base64 or hex"; err.Error() != want {
			t.Errorf("%q: %v, want %s", bad, err, want)
		}
	}
}

func TestASignerNeedsKeysThatAreKeys(t *testing.T) {
	t.Parallel()
	many := make([][]byte, 17)
	for i := range many {
		many[i] = seed(byte(i))
	}
	for name, seeds := range map[string][][]byte{
		"none":       nil,
		"short":      {seed(1)[:31]},
		"the same":   {seed(1), seed(2), seed(1)},
		"all zeroes": {make([]byte, 32)},
		"too many":   many,
	} {
		if _, err := tickets.NewSigner(seeds); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// FuzzVerify looks for a text that is taken without being the one code of its claims.
func FuzzVerify(f *testing.F) {
	f.Add(code1)
	f.Add(strings.ToLower(code1))
	f.Add(code1[:167] + "=")
	f.Add(claims.TicketID.String())
	s := signer(f, 1)
	f.Fuzz(func(t *testing.T, code string) {
		got, err := s.Verify(code)
		if err == nil && s.Code(got) != strings.ToUpper(code) {
			t.Errorf("%q is taken for %v", code, got)
		}
		if err != nil && got != (tickets.Claims{}) {
			t.Errorf("%q is refused and read all the same: %v", code, got)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	s := signer(b, 1)
	code := s.Code(claims)
	for b.Loop() {
		if _, err := s.Verify(code); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTheProgramInTheDocumentationVerifiesCodes runs what docs/tickets.md gives
// to whoever writes a scanner.
func TestTheProgramInTheDocumentationVerifiesCodes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/tickets.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) []byte {
		_, rest, _ := strings.Cut(string(page), "```"+language+"\n")
		text, _, found := strings.Cut(rest, "\n```\n")
		if !found {
			t.Fatalf("the page has no %s", language)
		}
		return []byte(text)
	}
	dir := t.TempDir()
	program, keys := filepath.Join(dir, "verify.go"), filepath.Join(dir, "keys.json")
	if err := errors.Join(os.WriteFile(program, block("go"), 0o600), os.WriteFile(keys, block("json"), 0o600)); err != nil {
		t.Fatal(err)
	}
	verify := filepath.Join(dir, "verify")
	if out, err := exec.Command("go", "build", "-o", verify, program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	forged := code1[:100] + "A" + code1[101:]
	for code, want := range map[string]string{
		code1:                          "ticket 0197a2b43c5d7e6f8a9b0c1d2e3f4a5b of show 0197a2b400007000800000000000cafe\n",
		forged:                         "forged\n",
		claims.TicketID.String():       "not a ticket code\n",
		signer(t, 7).Code(claims):      "signed with a key that is not in the list\n",
		strings.ToLower(code1) + "aaa": "not a ticket code\n",
	} {
		out, err := exec.Command(verify, keys, code).Output()
		if string(out) != want || (err == nil) != (code == code1) {
			t.Errorf("%s: %s, %v, want %s", code, out, err, want)
		}
	}
}
