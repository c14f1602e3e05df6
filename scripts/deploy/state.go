package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"growthworkspace/infra"
)

func (s deployedStack) exists() bool {
	return s.StackStatus != "" && s.StackStatus != types.StackStatusDeleteComplete && s.StackStatus != types.StackStatusReviewInProgress
}

// neverDeployed reports whether the stack's first deploy failed and was rolled back. The CDK
// deletes such a stack before it deploys a new one.
func (s deployedStack) neverDeployed() bool {
	return s.StackStatus == types.StackStatusRollbackComplete || s.StackStatus == types.StackStatusRollbackFailed
}

// isUpgradable reports whether a version of the service is deployed.
func (s deployedStack) isUpgradable() bool { return s.exists() && !s.neverDeployed() }

// reason returns why CloudFormation put the stack into its state.
func (s deployedStack) reason() string {
	return valueOr(aws.ToString(s.StackStatusReason), "unknown")
}

// checkDeployable returns an error unless the stack belongs to this service, and its state allows a
// deploy. The error says what to do. Commands in the error have the flags awsFlags. The stack is
// recognised by its parameters, because a stack has these in every state.
func (s deployedStack) checkDeployable(awsFlags string) error {
	if !s.exists() {
		return nil
	}
	for _, name := range []string{infra.ParamArchitecture, infra.ParamTable, infra.ParamEndpoint} {
		if !slices.ContainsFunc(s.Parameters, func(p types.Parameter) bool { return aws.ToString(p.ParameterKey) == name }) {
			return fmt.Errorf("the stack %s exists and does not belong to this service: choose another name with --stack", s.name())
		}
	}
	switch {
	case strings.HasSuffix(string(s.StackStatus), "_IN_PROGRESS"):
		return fmt.Errorf(`the stack %[1]s is %[2]s: a deploy is running, or was interrupted, which does not stop CloudFormation.
Wait until it ends, then run this again. To watch it:
  aws cloudformation describe-stack-events%[3]s --stack-name %[1]s --max-items 20
To cancel an update and restore the earlier version:
  aws cloudformation cancel-update-stack%[3]s --stack-name %[1]s`, s.name(), s.StackStatus, awsFlags)
	case s.StackStatus == types.StackStatusUpdateRollbackFailed:
		return fmt.Errorf(`the stack %[1]s is UPDATE_ROLLBACK_FAILED: an update failed, and so did its rollback.
The reason: %[2]s
Find what failed, fix the cause, and let CloudFormation finish the rollback; then run this again:
  aws cloudformation describe-stack-events%[3]s --stack-name %[1]s --query "StackEvents[?ends_with(ResourceStatus, 'FAILED')]"
  aws cloudformation continue-update-rollback%[3]s --stack-name %[1]s
None of this changes the table or its records`, s.name(), s.reason(), awsFlags)
	case s.StackStatus == types.StackStatusCreateFailed, s.StackStatus == types.StackStatusDeleteFailed:
		return fmt.Errorf(`the stack %[1]s is %[2]s: only a part of it exists.
The reason: %[3]s
Fix the cause and delete the rest; the table stays. Then run this again, with --table and the name of the table if there is one:
  aws cloudformation delete-stack%[4]s --stack-name %[1]s`, s.name(), s.StackStatus, s.reason(), awsFlags)
	}
	return nil
}

// failureAdvice says what state a failed deploy left the stack in, and what to do.
func (s deployedStack) failureAdvice(awsFlags string) string {
	switch {
	case !s.exists():
		return "Nothing was deployed: there is no stack " + s.name() + "."
	case strings.HasSuffix(string(s.StackStatus), "_IN_PROGRESS"):
		return fmt.Sprintf("CloudFormation continues without this program: the stack %s is %s. Wait until it ends, then run this again.", s.name(), s.StackStatus)
	case s.neverDeployed():
		return fmt.Sprintf(`The first deploy failed and nothing is running: the stack is %s.
Fix the cause and run this again: the rest of the stack is removed first. If a table was created, it stays, empty;
aws dynamodb list-tables%s shows it.`, s.StackStatus, awsFlags)
	}
	if err := s.checkDeployable(awsFlags); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("The stack %s is %s: the earlier version is running. Fix the cause and run this again.", s.name(), s.StackStatus)
}

func valueOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
