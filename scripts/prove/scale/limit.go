package scale

import (
	"math"

	"growthworkspace/infra"
)

// AWS's limits in most regions, as documented in November 2026. For an account, AWS can raise the
// limits that are called quotas here.
const (
	// https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
	gatewayRequests = 10_000 // per second: quota of an account and region
	// https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html
	// https://docs.aws.amazon.com/lambda/latest/dg/scaling-behavior.html
	lambdaConcurrency     = 1_000 // quota of an account and region; a new account may have 10
	requestsPerInstance   = 10    // maximum per second, however short the requests are
	newInstancesPerSecond = 100   // per function
	// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
	// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
	tableUnits          = 40_000 // per second, reads and writes each: quota of an on-demand table
	newTableWriteUnits  = 4_000  // per second
	newTableReadUnits   = 12_000
	partitionWriteUnits = 1_000 // per second
)

// What scripts/docs/explanation/scale.md assumes about the requests.
const (
	requestSeconds = 0.010 // how long a function needs for a request
	busiestShare   = 0.4   // the busiest path's share of the requests
	writeShare     = 0.2
)

// Limit compares what a load needs with what a new account or table provides.
type Limit struct {
	Name       string
	Have, Need float64
	RaiseWith  string // what to change before the limit is reached
}

// limitsOf returns the limits that apply to a load of rps requests per second.
func limitsOf(rps float64, u Units) []Limit {
	writeUnits, readUnits := rps*u.meanWrites(), rps*u.meanReads()
	return []Limit{
		{"requests of the busiest path", defaultThrottleRate(), rps * busiestShare, "`ThrottleRate`"},
		{"write units of a new table", newTableWriteUnits, writeUnits, "`WarmWriteUnits`"},
		{"requests of the account", gatewayRequests, rps, "a quota: API Gateway's throttle rate"},
		{"function instances", lambdaConcurrency, instancesOf(rps), "a quota: Lambda's concurrent executions"},
		{"write units of the table", tableUnits, writeUnits, "a quota: DynamoDB's write units of a table"},
		{"read units of a new table", newTableReadUnits, readUnits, "`WarmReadUnits`"},
		{"read units of the table", tableUnits, readUnits, "a quota: DynamoDB's read units of a table"},
	}
}

// instancesOf returns the number of function instances that rps requests per second need.
func instancesOf(rps float64) float64 {
	return math.Ceil(rps * max(requestSeconds, 1.0/requestsPerInstance))
}

// defaultThrottleRate returns how many requests per second the gateway admits for each path.
func defaultThrottleRate() float64 {
	for _, p := range infra.New().Parameters {
		if p.Name == infra.ParamThrottleRate {
			return float64(p.Default.(int))
		}
	}
	panic("scale: the stack has no parameter " + infra.ParamThrottleRate)
}
