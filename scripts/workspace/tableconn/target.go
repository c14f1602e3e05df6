// Package tableconn opens the table that the flags select. The table is in a data folder on this
// machine, at an endpoint that speaks DynamoDB's protocol, or in an AWS account.
package tableconn

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/terminal"
)

// Flags are the flags that select the table.
type Flags struct{ Data, Endpoint, Table string }

// Register adds the flags to a command that opens the table.
func (f *Flags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Data, "data", "", "store the data in this `folder` (default: growth-workspace in your user's data folder)")
	flags.StringVar(&f.Table, "table", "", "use this `table` of DynamoDB, with AWS's usual environment variables")
	flags.StringVar(&f.Endpoint, "endpoint", "", "use the engine at this `URL` (default: AWS_ENDPOINT_URL_DYNAMODB)")
}

// RegisterDemo adds --data to a command that calls the API, because the folder may contain the demo
// company's key.
func (f *Flags) RegisterDemo(flags *pflag.FlagSet) {
	flags.StringVar(&f.Data, "data", "", "use the demo company's key of a server that stores its data in this `folder`")
}

// Arguments returns the given flags as text, each preceded by a space, to append to a command line
// that uses the same table.
func (f Flags) Arguments() (out string) {
	for _, flag := range []struct{ name, value string }{{"data", f.Data}, {"table", f.Table}, {"endpoint", f.Endpoint}} {
		if flag.value != "" {
			out += " --" + flag.name + " " + terminal.QuoteArgument(flag.value)
		}
	}
	return out
}

// endpointVariable is the environment variable that --endpoint overrides.
const endpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"

// defaultTable is the name of the table in a local engine, and at an endpoint without --table.
const defaultTable = "workspace"

// Target is where the table is: in a data folder, at an endpoint or in an AWS account.
type Target struct {
	Data      string
	Endpoint  string
	TableName string
}

// Resolve decides where the table is. A flag takes precedence over the environment. It returns a
// usage error for conflicting flags.
func (f Flags) Resolve() (Target, error) {
	if f.Data != "" && (f.Endpoint != "" || f.Table != "") {
		return Target{}, terminal.NewUsageError("--data cannot be combined with --table or --endpoint")
	}
	if f.Data != "" {
		return Target{Data: f.Data, TableName: defaultTable}, nil
	}
	endpoint := cmp.Or(f.Endpoint, os.Getenv(endpointVariable))
	if endpoint != "" {
		return Target{Endpoint: endpoint, TableName: cmp.Or(f.Table, defaultTable)}, nil
	}
	if f.Table != "" {
		return Target{TableName: f.Table}, nil
	}
	data, err := defaultData()
	return Target{Data: data, TableName: defaultTable}, err
}

// IsAWS reports whether the table is in an AWS account. No command creates a table there: a table
// for a mistyped name would cost money and hide the mistake.
func (t Target) IsAWS() bool {
	if t.Data != "" {
		return false
	}
	u, err := url.Parse(t.Endpoint)
	if t.Endpoint == "" || err != nil {
		return true
	}
	host := strings.TrimSuffix(u.Hostname(), ".cn")
	return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".api.aws")
}

// String describes the target in words.
func (t Target) String() string {
	switch {
	case t.Data != "":
		return t.Data
	case t.Endpoint != "":
		return fmt.Sprintf("table %s at %s", t.TableName, t.Endpoint)
	}
	return "table " + t.TableName
}

// DemoKeyName is the name of the demo company's key file in a data folder.
const DemoKeyName = "demo-key.json"

// DemoKey is the key of the demo company. It is stored in plain text, because `serve` prints it at
// each start and the table has only its hash.
type DemoKey struct {
	CompanyID string `json:"companyId"`
	Key       string `json:"key"`

	// BaseURL is where the last `serve` of the data listened. Commands send the key nowhere else,
	// because another program may listen at any other address of this machine.
	BaseURL string `json:"baseUrl,omitempty"`
}

// DemoKey returns the demo company's key that `serve` stored in the data folder, and reports
// whether there is one.
func (t Target) DemoKey() (DemoKey, bool) {
	var d DemoKey
	if t.Data == "" {
		return d, false
	}
	found, err := secretfile.Read(filepath.Join(t.Data, DemoKeyName), &d)
	return d, err == nil && found && d.Key != ""
}

// defaultData returns the folder of this program in the user's data folder, for which the package
// os has no function.
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
		return "", fmt.Errorf("your home folder is unknown: name a folder with --data: %w", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", name), nil
	}
	return filepath.Join(home, ".local", "share", name), nil
}
