package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"growthworkspace/scripts/studio"
	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/tableconn"
)

// tokenFileName is the name of the file that contains the token for signing in to a team's studio.
const tokenFileName = "studio-token"

// teamStudio is the studio of a public server.
type teamStudio struct {
	companyID string
	url       string
	tokenFile string
}

// newTeamStudio adds the studio of a company to f. The studio's key and the token for signing in
// are stored in files next to the data. They are never printed.
func (s *server) newTeamStudio(ctx context.Context, session *tableconn.Session, companyID string, f *frontHandler, addr net.Addr) (*teamStudio, error) {
	if _, err := session.Company(ctx, companyID); err != nil {
		return nil, err
	}
	at, err := session.Keys().SuspendedAt(ctx, companyID)
	if err != nil {
		return nil, err
	}
	if at != nil {
		s.Note("the company %s is suspended: `%s` makes its keys work again", companyID, s.Command("company resume %s", companyID)+s.table.Arguments())
	}
	file, err := session.DemoKeyFile()
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(file)
	key, err := openKey(ctx, session, companyID, filepath.Join(dir, "studio-key.json"), "Studio at "+f.public.Host)
	if err != nil {
		return nil, err
	}
	tokenPath := filepath.Join(dir, tokenFileName)
	token, err := readToken(tokenPath)
	if err != nil {
		return nil, err
	}
	st, err := studio.New(studio.Options{
		BaseURL: f.public.String(), Key: key.Key, CompanyID: companyID, SaveSecret: secretfile.SecretSaver(dir),
		Transport: selfTransport(addr), Now: s.Now, Log: f.log,
	})
	if err != nil {
		return nil, err
	}
	f.studio = st.PublicHandler(ctx, f.public.Host, studioPath, token)
	return &teamStudio{companyID, f.public.String() + studioPath + "/", tokenPath}, nil
}

// tokenLengthMin is the minimum length of a token, so that it cannot be guessed. The length is
// checked because a person may have written the file.
const tokenLengthMin = 20

// readToken returns the token in the file. If the file does not exist, readToken first writes a
// random token to it.
func readToken(file string) (string, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		err := secretfile.Create(file, func(w io.Writer) error { _, err := fmt.Fprintln(w, rand.Text()); return err })
		if err != nil {
			return "", fmt.Errorf("write the token of the studio: %w", err)
		}
		return readToken(file)
	}
	if err != nil {
		return "", fmt.Errorf("read the token of the studio: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by others: delete it, and the next start writes a new token", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the token of the studio: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < tokenLengthMin {
		return "", fmt.Errorf("the token in %s has less than %d characters: delete the file, and the next start writes a new token", file, tokenLengthMin)
	}
	return token, nil
}

// announcePublic prints the addresses of the server, without keys and tokens.
func (s *server) announcePublic(session *tableconn.Session, public *url.URL, team *teamStudio, addr net.Addr) error {
	first := Announcement{BaseURL: public.String(), MCPURL: public.String() + "/mcp", Listen: addr.String()}
	studioText := fmt.Sprintf("studio    none: name a company with --company; `%s` creates one\n",
		s.Command("company create --name NAME --issue-key")+s.table.Arguments())
	if team != nil {
		first.StudioURL, first.CompanyID = team.url, team.companyID
		studioText = fmt.Sprintf("studio    %s\ncompany   %s\ntoken     in %s\n", team.url, team.companyID, team.tokenFile)
	}
	return s.Print(first, "base URL  %s\n%slistens   on %s, for a proxy with TLS; %s is the health check\nengine    %s\ndata      %s\n",
		public, studioText, addr, healthPath, session.EngineName(), session.Target)
}
