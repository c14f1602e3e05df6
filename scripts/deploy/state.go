package main

import (
	"fmt"
	"slices"
	"strings"

	"growthworkspace/infra"
)

// exists tells whether a stack is there.
func (s stack) exists() bool {
	return s.Status != "" && s.Status != "DELETE_COMPLETE" && s.Status != "REVIEW_IN_PROGRESS"
}

// failedAtFirst tells whether the stack never came to be: it serves nothing, and the CDK removes it before it deploys.
func (s stack) failedAtFirst() bool {
	return s.Status == "ROLLBACK_COMPLETE" || s.Status == "ROLLBACK_FAILED"
}

// ours tells whether the stack is one of this service, and not somebody's of the same name. Its parameters tell, which a
// stack has in every state.
func (s stack) ours() error {
	for _, name := range []string{infra.ParamArchitecture, infra.ParamTable, infra.ParamEndpoint} {
		if !slices.ContainsFunc(s.Parameters, func(p keyValue) bool { return p.Parameter == name }) {
			return fmt.Errorf("the stack %s exists and is not of this service: choose another name with --stack", s.Name)
		}
	}
	return nil
}

// deployable tells whether the state of a stack allows to deploy; the error says what it is and what to do.
func deployable(s stack) error {
	if !s.exists() {
		return nil
	}
	if err := s.ours(); err != nil {
		return err
	}
	return settled(s)
}

// settled tells whether nothing is under way or stuck.
func settled(s stack) error {
	switch {
	case strings.HasSuffix(s.Status, "_IN_PROGRESS"):
		return fmt.Errorf(`the stack %[1]s is %[2]s: somebody deploys, or a deploy was interrupted, which does not stop CloudFormation.
Wait until it has ended, then run this again. To watch it:
  aws cloudformation describe-stack-events --stack-name %[1]s --max-items 20
To turn an update back that should not be:
  aws cloudformation cancel-update-stack --stack-name %[1]s`, s.Name, s.Status)
	case s.Status == "UPDATE_ROLLBACK_FAILED":
		return fmt.Errorf(`the stack %[1]s is UPDATE_ROLLBACK_FAILED: an update failed, and so did the way back.
The reason: %[2]s
Look for what failed, mend its cause, and let CloudFormation finish the way back; then run this again:
  aws cloudformation describe-stack-events --stack-name %[1]s --query "StackEvents[?ends_with(ResourceStatus, 'FAILED')]"
  aws cloudformation continue-update-rollback --stack-name %[1]s
The table and its records are not touched by any of this`, s.Name, or(s.Reason, "not told"))
	case s.Status == "CREATE_FAILED":
		return fmt.Errorf(`the stack %[1]s is CREATE_FAILED: its first deploy failed, with the rollback switched off, and nothing of it serves.
The reason: %[2]s
Take what is left of it down with --destroy, mend the cause, then run this again`, s.Name, or(s.Reason, "not told"))
	case s.Status == "DELETE_FAILED":
		return fmt.Errorf(`the stack %[1]s is DELETE_FAILED: it was taken down in part.
The reason: %[2]s
Mend the cause and take it down again with --destroy; the table stays. Then deploy with --table and the table's name`, s.Name, or(s.Reason, "not told"))
	}
	return nil
}

// outcome says in which state a deploy that failed has left the account, and what to do.
func outcome(s stack) string {
	switch {
	case !s.exists():
		return "Nothing was deployed: there is no stack " + s.Name + "."
	case strings.HasSuffix(s.Status, "_IN_PROGRESS"):
		return "CloudFormation goes on without this program: the stack " + s.Name + " is " + s.Status + ". Wait until it has ended, then run this again."
	case s.failedAtFirst():
		return "The first deploy failed and nothing of it serves: the stack is " + s.Status + ".\n" +
			"Mend the cause and run this again: what is left of the stack is removed first. A table that was already made stays, empty;\n" +
			"aws dynamodb list-tables shows it."
	case s.Status == "UPDATE_ROLLBACK_FAILED", s.Status == "DELETE_FAILED", s.Status == "CREATE_FAILED":
		return settled(s).Error()
	}
	return "The stack " + s.Name + " is " + s.Status + ": what was deployed before is what serves now. Mend the cause and run this again."
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
