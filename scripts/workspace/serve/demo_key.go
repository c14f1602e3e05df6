package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"growthworkspace/functions/company"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
)

// storedKey is a key of a company, and the file that stores it.
type storedKey struct {
	tableconn.DemoKey

	file string
}

// openDemoKey returns a key of the demo company, and stores base as the address of its service. It
// creates the company and the key if they are missing. Two processes may do this concurrently: the ids are fixed, so they create the same
// records, and each gets a working key.
func openDemoKey(ctx context.Context, t *terminal.Terminal, flags tableconn.Flags, session *tableconn.Session, base string) (storedKey, error) {
	file, err := session.DemoKeyFile()
	if err != nil {
		return storedKey{}, err
	}
	_, err = company.NewStore(session.Table).Get(ctx, demo.CompanyID)
	if errors.Is(err, fault.ErrNotFound) {
		begin := time.Now()
		t.Note("creating the demo company in %s", session.Target)
		if err := demo.Seed(ctx, session.Table, t.Now()); err != nil {
			return storedKey{}, fmt.Errorf("create the demo company: %w", err)
		}
		t.Note("created the demo company in %.1f s", time.Since(begin).Seconds())
		err = nil
	}
	if err != nil {
		return storedKey{}, fmt.Errorf("look for the demo company: %w", err)
	}
	at, err := session.Keys().SuspendedAt(ctx, demo.CompanyID)
	if err != nil {
		return storedKey{}, err
	}
	if at != nil {
		t.Note("the demo company is suspended: `%s` makes its keys work again", t.Command("company resume %s", demo.CompanyID)+flags.Arguments())
	}
	d, err := openKey(ctx, session, demo.CompanyID, file, "Demo key of workspace serve")
	if err != nil || d.BaseURL == base {
		return d, err
	}
	d.BaseURL = base
	return d, secretfile.Write(file, d.DemoKey)
}

// openKey returns a key of the company with every scope. It reads the key from the file. If the
// file is missing or its key no longer works, it issues a key and writes it to the file.
func openKey(ctx context.Context, session *tableconn.Session, companyID, file, name string) (storedKey, error) {
	d := storedKey{file: file}
	if works, err := d.read(ctx, session, companyID); err != nil || works {
		return d, err
	}
	grant := keys.Grant{Name: name, Scopes: auth.Scopes(), APIVersion: fault.Version}
	_, secret, err := session.Keys().Issue(ctx, companyID, grant, rand.Reader)
	if err != nil {
		return storedKey{}, fmt.Errorf("issue the key of %s: %w", file, err)
	}
	d.DemoKey = tableconn.DemoKey{CompanyID: companyID, Key: secret}
	return d, secretfile.Write(file, d.DemoKey)
}

// read reads the key file. works reports whether its key works and belongs to the company.
func (s *storedKey) read(ctx context.Context, session *tableconn.Session, companyID string) (works bool, err error) {
	text, err := os.ReadFile(s.file)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the key in %s: %w", s.file, err)
	}
	if json.Unmarshal(text, &s.DemoKey) != nil {
		return false, nil
	}
	token, err := auth.Parse(s.Key)
	if err != nil || token.CompanyID != companyID {
		return false, nil
	}
	_, err = session.Keys().Verify(ctx, token, nil, auth.ClassRead)
	switch {
	case err == nil, errors.Is(err, auth.ErrSuspended):
		return true, nil
	case errors.Is(err, auth.ErrUnauthorised):
		return false, nil
	}
	return false, fmt.Errorf("check the key in %s: %w", s.file, err)
}
