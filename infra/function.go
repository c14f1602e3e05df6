package infra

import (
	"slices"

	"growthworkspace/shared/change"
)

// Settings that all functions share. The gateway waits 29 s for a function, and a handler gives up
// after 9 s.
const (
	Runtime        = "provided.al2023"
	MemoryMB       = 256
	TimeoutSeconds = 10
)

// Function is one Lambda function, built from one subfolder of functions.
type Function struct {
	Name   string // its program is functions/<Name>/lambda
	Grants []Grant
	Routes []Route // if empty, the table's stream invokes the function
}

// ID is the logical id of the function. The ids of its role and logs start with the same word.
func (f Function) ID() string { return f.logicalPrefix() + "Function" }

// RoleID is the logical id of the function's role.
func (f Function) RoleID() string { return f.logicalPrefix() + "Role" }

// LogsID is the logical id of the function's log group.
func (f Function) LogsID() string { return f.logicalPrefix() + "Logs" }

func (f Function) logicalPrefix() string { return capitalize(f.Name) }

// Source is the folder of the function's program, from the repository's root.
func (f Function) Source() string { return "functions/" + f.Name + "/lambda" }

// UsesTable reports whether the function reads or writes the table.
func (f Function) UsesTable() bool { return len(f.Grants) > 0 }

// ReadsStream reports whether the table's stream invokes the function instead of the gateway.
func (f Function) ReadsStream() bool { return len(f.Routes) == 0 }

// Environment returns the function's environment.
func (f Function) Environment() Object {
	// Go first collects garbage at a heap of 4 MB times GOGC/100. At 8 MB most requests end before
	// that, and the process stays below 20 MB. The memory limit makes Go collect more often before
	// an audit of megabytes could fill the memory. A function of this size has a seventh of one CPU
	// but sees two, and threads that wake each other would cost a quarter of a request's CPU time.
	out := Object{{"GOMAXPROCS", "1"}, {"GOGC", "200"}, {"GOMEMLIMIT", "200MiB"}}
	if f.UsesTable() {
		out = append(out,
			Field{"TABLE_NAME", tableName()},
			Field{"WRITES", IfCondition(ifReadOnly, "off", "on")},
			Field{"AWS_ENDPOINT_URL_DYNAMODB", Ref(ParamEndpoint)},
			Field{"METRICS", Ref(ParamMetrics)}, Field{"METRICS_NAMESPACE", StackNamespace()})
	}
	switch {
	case f.ReadsStream():
		out = append(out, Field{parkedQueueVariable, Ref(ParkedQueueID)})
	case slices.ContainsFunc(f.Grants, func(g Grant) bool { return g.Area == change.Area }): // list_changes returns 501 for a table without a stream
		out = append(out, Field{"TABLE_STREAM", IfCondition(ifStream, "images", "none")})
	}
	return out
}
