package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/api"
	"growthworkspace/shared/client"
)

// company is a company on a server, with a key.
type company struct{ base, id, key string }

// build is a running build of the service: either this build or another one to compare it with.
type build interface {
	// newCompany creates a company with the given records, and a key with every scope.
	newCompany(ctx context.Context, lines []demo.Line) (company, error)
	close() error
}

// attemptTimeout is the attempt timeout of `workspace serve`.
const attemptTimeout = 2500 * time.Millisecond

// thisBuild serves the code of this program.
type thisBuild struct {
	*testbed.Testbed
	server *httptest.Server
}

func openThisBuild(ctx context.Context) (*thisBuild, error) {
	t, err := testbed.Open(ctx, testbed.Options{})
	if err != nil {
		return nil, err
	}
	client := testbed.Client(t.Engine.Endpoint, testbed.Transport(t.Engine.Socket), attemptTimeout, time.Now)
	return &thisBuild{t, httptest.NewServer(functions.Handler(client, api.NewConfig(client, slog.New(slog.DiscardHandler))))}, nil
}

func (b *thisBuild) close() error { b.server.Close(); return b.Close() }

func (b *thisBuild) newCompany(ctx context.Context, lines []demo.Line) (company, error) {
	c, err := b.NewCompany(ctx, testbed.UnlimitedQuota)
	if err != nil {
		return company{}, err
	}
	setCompanyID(lines, c.ID)
	for _, kind := range functions.Transfers(nil) { // in this order, every type follows the types that its records refer to
		var records []any
		for _, line := range lines {
			if line.Type == kind.Name {
				records = append(records, line.Record)
			}
		}
		if err := b.Import(ctx, c.ID, kind.Name, records...); err != nil {
			return company{}, err
		}
	}
	return company{b.server.URL, c.ID, c.Key}, nil
}

// otherBuild is a server started with the workspace command of another build.
type otherBuild struct {
	testbed.Workspace
	dir, base string
	stop      func() error
}

func openOtherBuild(ctx context.Context, program string) (*otherBuild, error) {
	dir, err := os.MkdirTemp("", "agents-*")
	if err != nil {
		return nil, err
	}
	b := &otherBuild{Workspace: testbed.Workspace{Program: program, Data: filepath.Join(dir, "data")}, dir: dir}
	if err := os.MkdirAll(b.Data, 0o700); err != nil {
		return nil, err
	}
	if b.base, b.stop, err = b.Serve(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

func (b *otherBuild) close() error { return errors.Join(b.stop(), os.RemoveAll(b.dir)) }

func (b *otherBuild) newCompany(ctx context.Context, lines []demo.Line) (company, error) {
	id, err := b.CreateCompany(ctx)
	if err != nil {
		return company{}, err
	}
	setCompanyID(lines, id)
	file, err := os.Create(filepath.Join(b.dir, id+".jsonl"))
	if err != nil {
		return company{}, err
	}
	encoder := json.NewEncoder(file)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			return company{}, errors.Join(err, file.Close())
		}
	}
	if err := file.Close(); err != nil {
		return company{}, err
	}
	if err := b.Run(ctx, nil, "import", "--company", id, file.Name()); err != nil {
		return company{}, err
	}
	key, err := b.IssueKey(ctx, id)
	return company{b.base, id, key}, err
}

// setCompanyID sets the id in the company's profile, because a generator does not know the id.
func setCompanyID(lines []demo.Line, id string) {
	for _, line := range lines {
		if line.Type == "company" {
			line.Record["id"] = id
		}
	}
}

// withScopes returns the company with a key that has only the given scopes. If the build does not
// know the scopes for drafting, the key gets the scopes for reading and writing instead, and
// draftsOnly is false.
func withScopes(ctx context.Context, c company, scopes []string) (limited company, draftsOnly bool, err error) {
	api, err := client.New(c.base, c.key, client.WithAttempts(1), client.WithVersion(""))
	if err != nil {
		return c, false, err
	}
	issue := func(scopes []string) error {
		body, err := json.Marshal(record{"name": "agent", "scopes": scopes})
		if err != nil {
			return err
		}
		response, err := api.Do(ctx, client.Request{Method: http.MethodPost, Path: "/v1/companies/" + c.id + "/keys", Body: body})
		if err != nil {
			return fmt.Errorf("issue a key: %w", err)
		}
		var issued struct{ Secret string }
		err = json.Unmarshal(response.Body, &issued)
		c.key = issued.Secret
		return err
	}
	err = issue(scopes)
	var refused *client.Error
	if !errors.As(err, &refused) {
		return c, true, err
	}
	var wider []string
	for _, scope := range scopes {
		if area, isDraft := strings.CutSuffix(scope, ":draft"); isDraft {
			wider = append(wider, area+":read", area+":write")
		} else {
			wider = append(wider, scope)
		}
	}
	return c, false, issue(wider)
}
