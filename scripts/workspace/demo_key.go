package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"growthworkspace/functions/company"
	"growthworkspace/functions/openapi"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/version"
)

// demoKey is the key of the demo company. It is the one key that is kept in clear, because serve shows it at each start
// and the table has its hash only.
type demoKey struct {
	CompanyID string `json:"companyId"`
	Key       string `json:"key"`

	file string
}

// demo returns a key of the demo company, after making whichever of the two is missing. Two processes that do so at
// once make the same records, since their ids are fixed; each then has a key that works.
func (a *app) demo(ctx context.Context, s *session) (demoKey, error) {
	file, err := s.demoFile()
	if err != nil {
		return demoKey{}, err
	}
	_, err = company.NewStore(s.table).Get(ctx, demo.CompanyID)
	if errors.Is(err, fault.ErrNotFound) {
		begin := time.Now()
		a.note("making the demo company in %s", s.target)
		if err := demo.Seed(ctx, s.table, a.now()); err != nil {
			return demoKey{}, fmt.Errorf("make the demo company: %w", err)
		}
		a.note("made the demo company in %.1f s", seconds(begin))
		err = nil
	}
	if err != nil {
		return demoKey{}, fmt.Errorf("look for the demo company: %w", err)
	}
	at, err := s.keys().SuspendedAt(ctx, demo.CompanyID)
	if err != nil {
		return demoKey{}, err
	}
	if at != nil {
		a.note("the demo company is suspended: `workspace company resume %s` lets its keys work again", demo.CompanyID)
	}
	d, works, err := readDemoKey(ctx, s, file)
	if err != nil || works {
		return d, err
	}
	grant := keys.Grant{Name: "Demo key of workspace serve", Scopes: auth.Scopes(), APIVersion: version.Current}
	_, secret, err := s.keys().Issue(ctx, demo.CompanyID, grant, rand.Reader)
	if err != nil {
		return demoKey{}, fmt.Errorf("issue the demo key: %w", err)
	}
	d = demoKey{CompanyID: demo.CompanyID, Key: secret, file: file}
	return d, d.write()
}

// greeting is the key for the page of a server that only this machine reaches; for any other none.
func (d demoKey) greeting(addr net.Addr) openapi.Demo {
	if tcp, ok := addr.(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return openapi.Demo{}
	}
	return openapi.Demo{CompanyID: d.CompanyID, Key: d.Key}
}

// readDemoKey reads the file; works is false when there is none, or when its key is not one that the table knows.
func readDemoKey(ctx context.Context, s *session, file string) (d demoKey, works bool, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return d, false, nil
	}
	if err != nil {
		return d, false, fmt.Errorf("read the demo key: %w", err)
	}
	if json.Unmarshal(text, &d) != nil {
		return d, false, nil
	}
	d.file = file
	token, err := auth.Parse(d.Key)
	if err != nil || token.CompanyID != demo.CompanyID {
		return d, false, nil
	}
	_, err = s.keys().Verify(ctx, token, auth.ClassRead)
	switch {
	case err == nil, errors.Is(err, auth.ErrSuspended):
		return d, true, nil
	case errors.Is(err, auth.ErrUnauthorised):
		return d, false, nil
	}
	return d, false, fmt.Errorf("check the demo key: %w", err)
}

func (d demoKey) write() error { return writePrivate(d.file, d) }
