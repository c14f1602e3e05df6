package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"growthworkspace/infra"
)

const (
	// unreservedMin is the concurrency that AWS requires an account to leave unreserved, for
	// functions without a reservation.
	unreservedMin = 100
	// concurrencyQuota is the AWS quota code for concurrent executions.
	concurrencyQuota = "L-B99A9384"
)

// checkLimits checks the parameters against the limits of the account and the table before anything
// is built. It also chooses the role for API Gateway's logs.
func (d *deployer) checkLimits(ctx context.Context, s deployedStack) error {
	if err := d.checkConcurrency(ctx, s); err != nil {
		return err
	}
	if err := d.checkThroughput(ctx, s); err != nil {
		return err
	}
	d.holdThroughput(s)
	d.keepGatewayRole(ctx, s)
	return nil
}

// checkConcurrency returns an error if the account does not have enough concurrency for the
// functions' reservations. AWS would refuse the reservations only after everything was built and
// uploaded. checkConcurrency also prints a note if the account can run only a few functions at
// once.
func (d *deployer) checkConcurrency(ctx context.Context, s deployedStack) error {
	var settings struct {
		AccountLimit struct{ ConcurrentExecutions, UnreservedConcurrentExecutions int }
	}
	if err := d.account.get(ctx, "lambda", "2016-08-19/account-settings", &settings); err != nil {
		fmt.Fprintf(d.out, "note      the concurrency of the account is unknown: %s\n", err)
		return nil
	}
	limit, functionCount := settings.AccountLimit, len(infra.New().Functions)
	raise := "request more from AWS:\n  aws service-quotas request-service-quota-increase" + d.awsFlags() + " --service-code lambda --quota-code " + concurrencyQuota + " --desired-value 1000"
	perFunction := reservation(d.value(s, infra.ParamConcurrency))
	// The deploy releases the reservations of the deployed stack first.
	free := limit.UnreservedConcurrentExecutions + functionCount*reservation(s.parameter(infra.ParamConcurrency))
	if perFunction > 0 && free-functionCount*perFunction < unreservedMin {
		choice := "Use -1, which reserves nothing"
		if most := (free - unreservedMin) / functionCount; most > 0 {
			choice = fmt.Sprintf("Choose at most %d, or -1, which reserves nothing", most)
		}
		return fmt.Errorf(`%s=%d reserves %d for each of the %d functions, %d in all. The account has %d in %s that no other function reserves, and AWS refuses to leave fewer than %d unreserved.
%s; or %s`, infra.ParamConcurrency, perFunction, perFunction, functionCount, functionCount*perFunction, free, d.account.config.Region, unreservedMin, choice, raise)
	}
	if limit.ConcurrentExecutions < unreservedMin {
		fmt.Fprintf(d.out, `note      the account can run only %d functions at once in %s, as new accounts can. Each request needs one while it
          is processed; further requests get 500 with Retry-After. Before you have users, %s
`, limit.ConcurrentExecutions, d.account.config.Region, strings.ReplaceAll(raise, "\n", "\n          "))
	}
	return nil
}

// reservation returns the concurrency that a value of ReservedConcurrency reserves for each
// function.
func reservation(value string) int {
	n, _ := strconv.Atoi(value) // if the stack does not exist, value is empty and n is 0
	return max(n, 0)
}

// keepGatewayRole makes a new stack use the role with which API Gateway already writes logs,
// because all APIs in the account and region share one role. A flag takes precedence.
func (d *deployer) keepGatewayRole(ctx context.Context, s deployedStack) {
	if _, ok := d.parameters.lookup(infra.ParamGatewayLogs); ok || s.exists() && !s.neverDeployed() {
		return
	}
	var settings struct{ CloudwatchRoleArn string }
	if err := d.account.get(ctx, "apigateway", "account", &settings); err != nil {
		fmt.Fprintf(d.out, "note      API Gateway's role for logs is unknown, and the stack will set it: %s\n", err)
		return
	}
	if settings.CloudwatchRoleArn == "" {
		return
	}
	d.parameters = append(d.parameters, setting{infra.ParamGatewayLogs, "existing"})
	fmt.Fprintf(d.out, `note      API Gateway writes the logs of this account and region with %s.
          The stack keeps this role; --param %s=create would replace it for all APIs
`, settings.CloudwatchRoleArn, infra.ParamGatewayLogs)
}

// checkThroughput returns an error if a parameter would lower the warm throughput of the stack's
// table or of an index. DynamoDB does not allow that.
func (d *deployer) checkThroughput(ctx context.Context, s deployedStack) error {
	changed := d.changedThroughput(s)
	if len(changed) == 0 || !s.exists() {
		return nil
	}
	name := s.output("TableName")
	if name != "" && d.value(s, infra.ParamTable) != "" && d.value(s, infra.ParamAdopted) != "yes" {
		return fmt.Errorf("%s: the table %s does not belong to the stack; use aws dynamodb update-table%s --table-name %s", changed[0].name, name, d.awsFlags(), name)
	}
	if name == "" || !slices.ContainsFunc(changed, setting.isWarmThroughput) {
		return nil
	}
	warm, err := d.account.warmThroughput(ctx, name)
	if err != nil {
		return err
	}
	for _, p := range changed {
		wanted, _ := strconv.Atoi(p.value) // Set has validated the value
		for _, w := range warm {
			if current := w.units(p.name); p.isWarmThroughput() && 0 < wanted && wanted < current {
				return fmt.Errorf("%s=%d: %s can already serve %d, and DynamoDB cannot lower that; choose %d or more, or 0 to leave it as it is",
					p.name, wanted, w.name, current, current)
			}
		}
	}
	return nil
}

func (p setting) isWarmThroughput() bool {
	return p.name == infra.ParamWarmReads || p.name == infra.ParamWarmWrites
}

// changedThroughput returns the throughput parameters that this run changes in a deployed stack.
func (d *deployer) changedThroughput(s deployedStack) (out settings) {
	for _, name := range infra.ThroughputParameters {
		if value, ok := d.parameters.lookup(name); ok && value != valueOr(s.parameter(name), "0") {
			out = append(out, setting{name, value})
		}
	}
	return out
}

// holdThroughput moves the throughput parameters that change in a deployed stack from d.parameters
// to d.throughput, because a separate update changes them (see infra.ParamMaxReads).
func (d *deployer) holdThroughput(s deployedStack) {
	if !s.exists() || s.neverDeployed() {
		return
	}
	d.throughput = d.changedThroughput(s)
	d.parameters = slices.DeleteFunc(d.parameters, func(p setting) bool {
		return slices.Contains(infra.ThroughputParameters, p.name)
	})
}

// deployThroughput deploys only the changes to the throughput of the table and its indexes.
func (d *deployer) deployThroughput(ctx context.Context, p plan) error {
	if len(d.throughput) == 0 {
		return nil
	}
	check := func(c changeSet) error {
		return errors.Join(c.checkOnlyTableChanges("Modify"), c.check(p.next, p.next, false))
	}
	if err := d.deployTemplate(ctx, p.next, check, d.throughput.flags(d.stack)...); err != nil {
		return fmt.Errorf("everything but the throughput was deployed: %w", err)
	}
	return nil
}

// flags returns the settings as flags for the CDK.
func (s settings) flags(stack string) (out []string) {
	for _, p := range s {
		out = append(out, "--parameters", stack+":"+p.name+"="+p.value)
	}
	return out
}

// value returns the value that a parameter will have: the value that was chosen in this run, or
// else that of the deployed stack. It does not consider defaults or later changes by the program
// itself.
func (d *deployer) value(s deployedStack, name string) string {
	if value, ok := d.parameters.lookup(name); ok {
		return value
	}
	return s.parameter(name)
}

// warmThroughput is the throughput that a table or an index can serve at once.
type warmThroughput struct {
	name          string
	reads, writes int
}

func (w warmThroughput) units(parameter string) int {
	if parameter == infra.ParamWarmReads {
		return w.reads
	}
	return w.writes
}

// warmThroughput requests the warm throughput of a table and its indexes from DynamoDB.
func (a *account) warmThroughput(ctx context.Context, table string) (out []warmThroughput, err error) {
	type units struct{ ReadUnitsPerSecond, WriteUnitsPerSecond int }
	var response struct {
		Table struct {
			WarmThroughput         units
			GlobalSecondaryIndexes []struct {
				IndexName      string
				WarmThroughput units
			}
		}
	}
	if err := a.callDynamoDB(ctx, "DescribeTable", map[string]any{"TableName": table}, &response); err != nil {
		return nil, fmt.Errorf("read the table %s: %w", table, err)
	}
	t := response.Table
	out = append(out, warmThroughput{"the table", t.WarmThroughput.ReadUnitsPerSecond, t.WarmThroughput.WriteUnitsPerSecond})
	for _, i := range t.GlobalSecondaryIndexes {
		out = append(out, warmThroughput{"the index " + i.IndexName, i.WarmThroughput.ReadUnitsPerSecond, i.WarmThroughput.WriteUnitsPerSecond})
	}
	return out, nil
}

// get sends a GET request to a REST API of AWS, and decodes the JSON response into out.
func (a *account) get(ctx context.Context, service, path string, out any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.endpoint(service)+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	return a.send(ctx, service, r, nil, func(body []byte) error { return json.Unmarshal(body, out) })
}
