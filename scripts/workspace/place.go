package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"
)

// place is where the table is, as the flags say it.
type place struct{ data, endpoint, table string }

func (p *place) flags(flags *pflag.FlagSet) {
	flags.StringVar(&p.data, "data", "", "keep the data in this `folder` (default: growth-workspace in your user's data folder)")
	flags.StringVar(&p.table, "table", "", "use this `table` of DynamoDB, with AWS's usual environment")
	flags.StringVar(&p.endpoint, "endpoint", "", "use the engine at this `URL` (default: AWS_ENDPOINT_URL_DYNAMODB)")
}

// The environment variables that say something of the place. Those of AWS's credentials are in session.go.
const endpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"

// defaultTable is the table of a local engine, and of an endpoint without --table.
const defaultTable = "workspace"

// target is where the table is: exactly one of a data folder, an endpoint and an account.
type target struct {
	data     string
	endpoint string
	table    string
}

// resolve decides between the places. A flag comes before the environment.
func (p place) resolve() (target, error) {
	if p.data != "" && (p.endpoint != "" || p.table != "") {
		return target{}, &usageError{"--data names a folder of this machine, --table and --endpoint another place: give one of them"}
	}
	if p.data != "" {
		return target{data: p.data, table: defaultTable}, nil
	}
	endpoint := p.endpoint
	if endpoint == "" {
		endpoint = os.Getenv(endpointVariable)
	}
	switch {
	case endpoint != "":
		table := p.table
		if table == "" {
			table = defaultTable
		}
		return target{endpoint: endpoint, table: table}, nil
	case p.table != "":
		return target{table: p.table}, nil
	}
	data, err := defaultData()
	return target{data: data, table: defaultTable}, err
}

func (t target) local() bool { return t.data != "" }

// account tells whether the table is DynamoDB's own, which no command creates: there a mistyped name would cost money
// and hide the mistake.
func (t target) account() bool {
	if t.data != "" {
		return false
	}
	u, err := url.Parse(t.endpoint)
	if t.endpoint == "" || err != nil {
		return true
	}
	host := strings.TrimSuffix(u.Hostname(), ".cn")
	return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".api.aws")
}

// String names the place for people.
func (t target) String() string {
	switch {
	case t.data != "":
		return t.data
	case t.endpoint != "":
		return fmt.Sprintf("table %s at %s", t.table, t.endpoint)
	}
	return "table " + t.table
}

// defaultData is where data belongs on this system; it is not os.UserConfigDir, which is for settings.
func defaultData() (string, error) {
	const name = "growth-workspace"
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name), nil
	}
	if dir := os.Getenv("LocalAppData"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("your home folder is not known: name a folder with --data: %w", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", name), nil
	}
	return filepath.Join(home, ".local", "share", name), nil
}
