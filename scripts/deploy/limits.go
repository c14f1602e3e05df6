package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

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
	d.keepGatewayRole(ctx, s)
	return nil
}

// checkConcurrency returns an error if the account does not have enough concurrency for the
// functions' reservations. AWS would refuse the reservations only after everything was built and
// uploaded. checkConcurrency also prints a note if the account can run only a few functions at
// once.
func (d *deployer) checkConcurrency(ctx context.Context, s deployedStack) error {
	settings, err := d.account.functions.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil || settings.AccountLimit == nil {
		fmt.Fprintf(d.out, "note      the concurrency of the account is unknown: %v\n", err)
		return nil
	}
	total, functionCount := int(settings.AccountLimit.ConcurrentExecutions), len(infra.New().Functions)
	raise := "request more from AWS:\n  aws service-quotas request-service-quota-increase" + d.awsFlags() + " --service-code lambda --quota-code " + concurrencyQuota + " --desired-value 1000"
	perFunction := reservation(d.value(s, infra.ParamConcurrency))
	// The deploy releases the reservations of the deployed stack first.
	free := int(aws.ToInt32(settings.AccountLimit.UnreservedConcurrentExecutions)) + functionCount*reservation(s.parameter(infra.ParamConcurrency))
	if perFunction > 0 && free-functionCount*perFunction < unreservedMin {
		choice := "Use -1, which reserves nothing"
		if most := (free - unreservedMin) / functionCount; most > 0 {
			choice = fmt.Sprintf("Choose at most %d, or -1, which reserves nothing", most)
		}
		return fmt.Errorf(`%s=%d reserves %d for each of the %d functions, %d in all. The account has %d in %s that no other function reserves, and AWS refuses to leave fewer than %d unreserved.
%s; or %s`, infra.ParamConcurrency, perFunction, perFunction, functionCount, functionCount*perFunction, free, d.account.config.Region, unreservedMin, choice, raise)
	}
	if total < unreservedMin {
		fmt.Fprintf(d.out, `note      the account can run only %d functions at once in %s, as new accounts can. Each request needs one while it
          is processed; further requests get 500 with Retry-After. Before you have users, %s
`, total, d.account.config.Region, strings.ReplaceAll(raise, "\n", "\n          "))
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
	if _, ok := d.parameters.lookup(infra.ParamGatewayLogs); ok || s.isUpgradable() {
		return
	}
	settings, err := d.account.gateways.GetAccount(ctx, &apigateway.GetAccountInput{})
	if err != nil {
		fmt.Fprintf(d.out, "note      API Gateway's role for logs is unknown, and the stack will set it: %s\n", err)
		return
	}
	role := aws.ToString(settings.CloudwatchRoleArn)
	if role == "" {
		return
	}
	d.parameters = append(d.parameters, setting{infra.ParamGatewayLogs, "existing"})
	fmt.Fprintf(d.out, `note      API Gateway writes the logs of this account and region with %s.
          The stack keeps this role; --param %s=create would replace it for all APIs
`, role, infra.ParamGatewayLogs)
}

// checkThroughput returns an error if a parameter would lower the warm throughput of the stack's
// table or of an index. DynamoDB does not allow that.
func (d *deployer) checkThroughput(ctx context.Context, s deployedStack) error {
	changed := d.changedThroughput(s)
	name := s.output("TableName")
	if len(changed) == 0 || name == "" {
		return nil
	}
	if d.value(s, infra.ParamTable) != "" && d.value(s, infra.ParamAdopted) != "yes" {
		return fmt.Errorf("%s: the table %s does not belong to the stack; use aws dynamodb update-table%s --table-name %s", changed[0].name, name, d.awsFlags(), name)
	}
	table, err := d.account.table(ctx, name)
	if err != nil {
		return err
	}
	for _, p := range changed {
		wanted, _ := strconv.ParseInt(p.value, 10, 64) // Set has validated the value
		for _, w := range table.warm {
			if current := w.units[p.name]; 0 < wanted && wanted < current {
				return fmt.Errorf("%s=%d: %s can already serve %d, and DynamoDB cannot lower that; choose %d or more, or 0 to leave it as it is",
					p.name, wanted, w.name, current, current)
			}
		}
	}
	return nil
}

// changedThroughput returns the throughput parameters that this run changes in a deployed stack.
func (d *deployer) changedThroughput(s deployedStack) (out settings) {
	for _, p := range d.parameters {
		if s.isUpgradable() && slices.Contains(infra.ThroughputParameters, p.name) && p.value != valueOr(s.parameter(p.name), "0") {
			out = append(out, p)
		}
	}
	return out
}

// value returns the value that a parameter will have: the value that was chosen in this run, or
// else that of the deployed stack. It does not consider defaults.
func (d *deployer) value(s deployedStack, name string) string {
	if value, ok := d.parameters.lookup(name); ok {
		return value
	}
	return s.parameter(name)
}
