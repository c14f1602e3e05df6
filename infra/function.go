package infra

import "strings"

// Settings that all functions share. design.md §5 has the deadlines: gateway 29 s > function 10 s > handler 9 s.
const (
	Runtime       = "provided.al2023"
	MemoryMB      = 256
	TimeoutSecond = 10
)

// Function is one Lambda function: one folder of functions.
type Function struct {
	Name   string // of the folder: functions/<Name>/lambda is its program
	Grants []Grant
	Routes []Route
}

func newFunction(name string, grants []Grant, routes []Route) Function {
	return Function{Name: name, Grants: grants, Routes: routes}
}

// ID is the logical id of the function; those of its role and its logs begin with the same word.
func (f Function) ID() string { return f.word() + "Function" }

// RoleID is the logical id of the function's role.
func (f Function) RoleID() string { return f.word() + "Role" }

// LogsID is the logical id of the function's log group.
func (f Function) LogsID() string { return f.word() + "Logs" }

func (f Function) word() string { return strings.ToUpper(f.Name[:1]) + f.Name[1:] }

// Source is the folder of the function's program, from the repository's root.
func (f Function) Source() string { return "functions/" + f.Name + "/lambda" }

// UsesTable tells whether the function reads or writes the table at all.
func (f Function) UsesTable() bool { return len(f.Grants) > 0 }

// Environment returns the function's environment.
func (f Function) Environment() Object {
	// Go first collects at a heap of 4 MB times GOGC/100: at 8 MB instead of 4, most requests are over before, and the
	// process stays below 20 MB. The limit has it collect more often, whatever GOGC says, before an audit of megabytes
	// could fill the function's memory. A function of this size has a seventh of one CPU, and sees two: threads that wake each
	// other up for it cost a quarter of a request's CPU time.
	out := Object{{"GOMAXPROCS", "1"}, {"GOGC", "200"}, {"GOMEMLIMIT", "200MiB"}}
	if f.UsesTable() {
		out = append(out,
			Field{"TABLE_NAME", tableName()},
			Field{"AWS_ENDPOINT_URL_DYNAMODB", Ref(ParamEndpoint)},
			Field{"METRICS", Ref(ParamMetrics)}, Field{"METRICS_NAMESPACE", StackNamespace()})
	}
	return out
}
