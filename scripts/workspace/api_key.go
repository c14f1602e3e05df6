package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/client"
)

// The environment variables that say where the service is and with which key it is called.
const (
	keyVariable = "WORKSPACE_KEY"
	urlVariable = "WORKSPACE_URL"
)

const defaultBaseURL = "http://" + defaultAddr

// remote is where the service is, as the flags say it.
type remote struct{ baseURL, company string }

func (r *remote) flags(flags *pflag.FlagSet) {
	flags.StringVar(&r.baseURL, "base-url", "", "call the service at this `URL` (default: WORKSPACE_URL, the login's, or "+defaultBaseURL+")")
	flags.StringVar(&r.company, "company", "", "the `id` of the key's company (default: it is asked for)")
}

// credential is a key, and where it belongs.
type credential struct {
	BaseURL string `json:"baseUrl"`
	Key     string `json:"key"`

	source string // in words
}

// connection is a client, and what is said of it when something goes wrong.
type connection struct {
	client *client.Client
	credential
}

// credential finds the service and a key for it. A key that is kept is for the service that it was kept for and no other:
// a changed --base-url must not carry it to a stranger.
func (a *app) credential(r remote) (credential, error) {
	kept, err := readLogin()
	base := strings.TrimRight(cmp.Or(r.baseURL, os.Getenv(urlVariable), kept.BaseURL, defaultBaseURL), "/")
	c := credential{BaseURL: base}
	if key := os.Getenv(keyVariable); key != "" {
		c.Key, c.source = strings.TrimSpace(key), "the key of "+keyVariable
		return c, nil // whatever is the matter with one that is not used
	}
	if err != nil {
		return c, err
	}
	if kept.Key != "" && kept.BaseURL == base {
		c.Key, c.source = kept.Key, "the key of `workspace login`"
		return c, nil
	}
	if loopback(base) {
		if key, ok := a.keptDemoKey(); ok {
			c.Key, c.source = key, "the demo company's key of `workspace serve`"
		}
	}
	return c, nil
}

// errNoKey tells what to do without one.
func errNoKey(base string) error {
	return fmt.Errorf("no key for %s: set %s, or run `workspace login --base-url %s` with the key on standard input", base, keyVariable, base)
}

// loopback tells whether an address is one of this machine.
func loopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// overheard tells whether everybody on the way to an address could read a key that is sent there.
func overheard(base string) bool { return !strings.HasPrefix(base, "https:") && !loopback(base) }

// keptDemoKey returns the key that serve keeps beside its data.
func (a *app) keptDemoKey() (string, bool) {
	where, err := a.place.resolve()
	if err != nil || !where.local() {
		return "", false
	}
	var d demoKey
	found, err := readPrivate(filepath.Join(where.data, demoKeyName), &d)
	return d.Key, err == nil && found && d.Key != ""
}

// connect makes a client.
func (a *app) connect(r remote, options ...client.Option) (connection, error) {
	c, err := a.credential(r)
	if err != nil {
		return connection{}, err
	}
	if c.Key == "" {
		return connection{}, errNoKey(c.BaseURL)
	}
	return a.connectWith(c, r.company, options...)
}

func (a *app) connectWith(c credential, company string, options ...client.Option) (connection, error) {
	if overheard(c.BaseURL) {
		a.note("%s is not encrypted: everybody on the way can read the key", c.BaseURL)
	}
	if token, err := auth.Parse(c.Key); company == "" && err == nil {
		company = token.CompanyID // which saves a call, and keys without company:read work
	}
	options = append([]client.Option{
		client.WithCompany(company), client.WithUserAgent("workspace"), client.WithSleep(a.waitAloud),
	}, options...)
	made, err := client.New(c.BaseURL, c.Key, options...)
	if err != nil {
		return connection{}, errors.New(strings.TrimPrefix(err.Error(), "client: "))
	}
	return connection{made, c}, nil
}

// quietWait is how long nobody wonders.
const quietWait = 2 * time.Second

// waitAloud waits before a call is made again, and says so when it takes a while.
func (a *app) waitAloud(ctx context.Context, d time.Duration) error {
	if d > quietWait {
		a.note("waiting %d s before the call is made again", int(d/time.Second))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// loginFile is where login keeps the key: among the user's settings.
func loginFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("your settings folder is not known: set %s: %w", keyVariable, err)
	}
	return filepath.Join(dir, "growth-workspace", "login.json"), nil
}

// readLogin returns the key that is kept, empty when there is none.
func readLogin() (c credential, err error) {
	file, err := loginFile()
	if err != nil {
		return c, nil // nothing can have been kept
	}
	_, err = readPrivate(file, &c)
	return c, err
}

// readPrivate reads a file with a secret. It refuses one that others can read, because then it is none.
func readPrivate(file string, v any) (found bool, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("read the key: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return false, fmt.Errorf("%s can be read by others: run chmod 600 on it, and rotate the key that it holds", file)
	}
	if err := json.NewDecoder(f).Decode(v); err != nil {
		return false, fmt.Errorf("%s does not read: run `workspace login` again", file)
	}
	return true, nil
}

// writePrivate keeps a secret in a file that only its owner can read, whole or not at all.
func writePrivate(file string, v any) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the key: %w", err)
	}
	f, err := os.CreateTemp(dir, ".key-*") // which only its owner may read
	if err != nil {
		return fmt.Errorf("keep the key: %w", err)
	}
	err = errors.Join(json.NewEncoder(f).Encode(v), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("keep the key: %w", err)
	}
	return nil
}

// holder asks the service which key this is. nil where it has no such operation, and where the key opens the company
// nevertheless.
func (c connection) holder(ctx context.Context) (*client.Key, error) {
	key, err := c.client.GetCurrentKey(ctx)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		_, err := c.client.ListCompanies(ctx)
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return &key, nil
}
