package auth_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/id"
)

func mint(t *testing.T) (company, key, secret string) {
	t.Helper()
	next := id.NewGenerator(time.Now, rand.Reader)
	company, key = next(id.CompanyPrefix), next(id.KeyPrefix)
	secret, err := auth.Mint(company, key, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return company, key, secret
}

func TestMintAndParse(t *testing.T) {
	company, key, secret := mint(t)
	token, err := auth.ParseHeader([]string{"bearer  " + secret + " "})
	if err != nil {
		t.Fatal(err)
	}
	if token.CompanyID != company || token.KeyID != key {
		t.Errorf("got %s and %s, want %s and %s", token.CompanyID, token.KeyID, company, key)
	}
	if shown := auth.VisiblePrefix(secret); !strings.HasPrefix(secret, shown) || len(shown) > len(secret)/4 {
		t.Errorf("%d characters of a key are shown", len(shown))
	}
}

// Ensure the checksum detects every single-character typo.
func TestParseFindsTypos(t *testing.T) {
	_, _, secret := mint(t)
	for i := range secret {
		c := byte('x')
		if secret[i] == c {
			c = 'y'
		}
		if _, err := auth.Parse(secret[:i] + string(c) + secret[i+1:]); !errors.Is(err, auth.ErrUnauthorised) {
			t.Errorf("a typo at %d was accepted", i)
		}
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	_, _, secret := mint(t)
	for name, values := range map[string][]string{
		"no header": nil, "two headers": {"Bearer " + secret, "Bearer " + secret}, "basic": {"Basic " + secret},
		"bare": {secret}, "empty": {"Bearer "}, "short": {"Bearer " + secret[:50]}, "long": {"Bearer " + secret + "0"},
		"two keys": {"Bearer " + secret + ", Bearer " + secret},
	} {
		if _, err := auth.ParseHeader(values); !errors.Is(err, auth.ErrUnauthorised) {
			t.Errorf("%s: error %v, want %v", name, err, auth.ErrUnauthorised)
		}
	}
	publishable := "pk_" + strings.TrimPrefix(secret, "sk_")
	if _, err := auth.ParseHeader([]string{"Bearer " + publishable}); !errors.Is(err, auth.ErrPublishable) {
		t.Errorf("publishable: %v", err)
	}
}

func TestMintRefusesForeignIDs(t *testing.T) {
	if _, err := auth.Mint("co_demo", "key_1", rand.Reader); err == nil {
		t.Error("no error")
	}
}
