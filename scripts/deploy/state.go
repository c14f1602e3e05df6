package main

import (
	"fmt"
	"slices"
	"strings"

	"growthworkspace/infra"
)

func (s deployedStack) exists() bool {
	return s.Status != "" && s.Status != "DELETE_COMPLETE" && s.Status != "REVIEW_IN_PROGRESS"
}

// neverDeployed reports whether the stack's first deploy failed and was rolled back. The CDK
// deletes such a stack before it deploys a new one.
func (s deployedStack) neverDeployed() bool {
	return s.Status == "ROLLBACK_COMPLETE" || s.Status == "ROLLBACK_FAILED"
}

// checkBelongsToService returns an error unless the stack belongs to this service. It recognises
// the stack by its parameters, because a stack has these in every state.
func (s deployedStack) checkBelongsToService() error {
	for _, name := range []string{infra.ParamArchitecture, infra.ParamTable, infra.ParamEndpoint} {
		if !slices.ContainsFunc(s.Parameters, func(p keyValue) bool { return p.Parameter == name }) {
			return fmt.Errorf("the stack %s exists and does not belong to this service: choose another name with --stack", s.Name)
		}
	}
	return nil
}

// checkDeployable returns an error unless the state of the stack allows a deploy. The error says
// what to do. Commands in the error have the flags awsFlags.
func checkDeployable(s deployedStack, awsFlags string) error {
	if !s.exists() {
		return nil
	}
	if err := s.checkBelongsToService(); err != nil {
		return err
	}
	return checkIdle(s, awsFlags)
}

// checkIdle returns an error if a change to the stack is in progress or has failed.
func checkIdle(s deployedStack, awsFlags string) error {
	switch {
	case strings.HasSuffix(s.Status, "_IN_PROGRESS"):
		return fmt.Errorf(`the stack %[1]s is %[2]s: a deploy is running, or was interrupted, which does not stop CloudFormation.
Wait until it ends, then run this again. To watch it:
  aws cloudformation describe-stack-events%[3]s --stack-name %[1]s --max-items 20
To cancel an update and restore the earlier version:
  aws cloudformation cancel-update-stack%[3]s --stack-name %[1]s`, s.Name, s.Status, awsFlags)
	case s.Status == "UPDATE_ROLLBACK_FAILED":
		return fmt.Errorf(`the stack %[1]s is UPDATE_ROLLBACK_FAILED: an update failed, and so did its rollback.
The reason: %[2]s
Find what failed, fix the cause, and let CloudFormation finish the rollback; then run this again:
  aws cloudformation describe-stack-events%[3]s --stack-name %[1]s --query "StackEvents[?ends_with(ResourceStatus, 'FAILED')]"
  aws cloudformation continue-update-rollback%[3]s --stack-name %[1]s
None of this changes the table or its records`, s.Name, valueOr(s.Reason, "unknown"), awsFlags)
	case s.Status == "CREATE_FAILED":
		return fmt.Errorf(`the stack %[1]s is CREATE_FAILED: its first deploy failed, with the rollback switched off, and nothing is running.
The reason: %[2]s
Delete the rest of it with --destroy, fix the cause, then run this again`, s.Name, valueOr(s.Reason, "unknown"))
	case s.Status == "DELETE_FAILED":
		return fmt.Errorf(`the stack %[1]s is DELETE_FAILED: it was deleted in part.
The reason: %[2]s
Fix the cause and delete the rest with --destroy; the table stays. Then deploy with --table and the table's name`, s.Name, valueOr(s.Reason, "unknown"))
	}
	return nil
}

// failureAdvice says what state a failed deploy left the stack in, and what to do.
func failureAdvice(s deployedStack, awsFlags string) string {
	switch {
	case !s.exists():
		return "Nothing was deployed: there is no stack " + s.Name + "."
	case strings.HasSuffix(s.Status, "_IN_PROGRESS"):
		return "CloudFormation continues without this program: the stack " + s.Name + " is " + s.Status + ". Wait until it ends, then run this again."
	case s.neverDeployed():
		return "The first deploy failed and nothing is running: the stack is " + s.Status + ".\n" +
			"Fix the cause and run this again: the rest of the stack is removed first. If a table was created, it stays, empty;\n" +
			"aws dynamodb list-tables" + awsFlags + " shows it."
	case s.Status == "UPDATE_ROLLBACK_FAILED", s.Status == "DELETE_FAILED", s.Status == "CREATE_FAILED":
		return checkIdle(s, awsFlags).Error()
	}
	return "The stack " + s.Name + " is " + s.Status + ": the earlier version is running. Fix the cause and run this again."
}

func valueOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
