package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"growthworkspace/infra"
)

// changeSetName is the name of the change set of every update. The CDK deletes a change set that an
// interrupted deploy left behind.
const changeSetName = "growth-workspace-deploy"

// changeSet describes what an update would change in a stack.
type changeSet struct {
	isEmpty bool // whether the update would change nothing
	changes []types.ResourceChange
}

// changeSet requests a change set with all its changes.
func (a *account) changeSet(ctx context.Context, stack string) (out changeSet, err error) {
	pages := cloudformation.NewDescribeChangeSetPaginator(a.stacks, &cloudformation.DescribeChangeSetInput{StackName: &stack, ChangeSetName: aws.String(changeSetName)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return changeSet{}, fmt.Errorf("read the change set of the stack %s: %w", stack, err)
		}
		reason := aws.ToString(page.StatusReason)
		out.isEmpty = page.Status == types.ChangeSetStatusFailed && (strings.Contains(reason, "didn't contain changes") || strings.Contains(reason, "No updates are to be performed"))
		for _, c := range page.Changes {
			if c.ResourceChange != nil {
				out.changes = append(out.changes, *c.ResourceChange)
			}
		}
	}
	return out, nil
}

// deleteChangeSet deletes the change set without executing it.
func (a *account) deleteChangeSet(ctx context.Context, stack string) error {
	_, err := a.stacks.DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{StackName: &stack, ChangeSetName: aws.String(changeSetName)})
	if err != nil {
		return fmt.Errorf("delete the change set of the stack %s: %w", stack, err)
	}
	return nil
}

// lastingTypes are the types of the resources that an update must never replace or remove. The
// table has the records, and the URL of the API contains the ids of the API and its stage.
var lastingTypes = []string{"AWS::DynamoDB::Table", "AWS::ApiGateway::RestApi", "AWS::ApiGateway::Stage"}

// check returns an error if the update would replace or remove a resource of one of the
// lastingTypes. releasesTable reports whether the operator chose another table than that of the
// stack: then the update may remove the table from the stack, if it keeps the table itself.
func (c changeSet) check(deployed, next template, releasesTable bool) error {
	var problems []error
	for _, change := range c.changes {
		if !slices.Contains(lastingTypes, aws.ToString(change.ResourceType)) {
			continue
		}
		what := "the resource " + describeResource(change)
		switch {
		case change.Action == types.ChangeActionRemove && aws.ToString(change.LogicalResourceId) == infra.TableID && releasesTable && change.PolicyAction == types.PolicyActionRetain:
		case change.Action == types.ChangeActionRemove:
			problems = append(problems, errors.New("it removes "+what))
		case change.Action == types.ChangeActionModify && c.mayReplace(change, deployed, next):
			problems = append(problems, errors.New("it replaces "+what+", because of "+strings.Join(replacementCauses(change), ", ")))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("the deploy is refused, and nothing was changed:\n%w\nThe records are in the table, and every client has the URL of the API. Undo this change of the definition", errors.Join(problems...))
}

func describeResource(r types.ResourceChange) string {
	return aws.ToString(r.LogicalResourceId) + " (" + aws.ToString(r.ResourceType) + ")"
}

// mayReplace reports whether an update may replace a resource of one of the lastingTypes.
func (c changeSet) mayReplace(change types.ResourceChange, deployed, next template) bool {
	if change.Replacement != types.ReplacementConditional {
		return change.Replacement != types.ReplacementFalse
	}
	for _, d := range change.Details {
		if d.Target == nil || d.Target.RequiresRecreation == types.RequiresRecreationNever {
			continue
		}
		// A property that refers to another resource changes only if that resource is replaced.
		cause, _, _ := strings.Cut(aws.ToString(d.CausingEntity), ".")
		other := slices.IndexFunc(c.changes, func(r types.ResourceChange) bool {
			return aws.ToString(r.LogicalResourceId) == cause && cause != aws.ToString(change.LogicalResourceId)
		})
		if d.Evaluation == types.EvaluationTypeDynamic && other >= 0 && !c.mayReplace(c.changes[other], deployed, next) {
			continue
		}
		// CloudFormation reports that a change to the attribute definitions or the indexes may
		// replace the table. The table is replaced only if its primary key changes, or the type of
		// an attribute that was already defined.
		property := aws.ToString(d.Target.Name)
		if aws.ToString(change.ResourceType) == "AWS::DynamoDB::Table" && (property == "AttributeDefinitions" || property == "GlobalSecondaryIndexes") && sameTableKeys(deployed, next) {
			continue
		}
		return true
	}
	return false
}

// sameTableKeys reports whether the tables of two templates have the same primary key, and the same
// type for each attribute that both define.
func sameTableKeys(a, b template) bool {
	first, err := a.table()
	second, err2 := b.table()
	if err != nil || err2 != nil || first.KeySchema.String() != second.KeySchema.String() {
		return false
	}
	attributeTypes := map[any]any{}
	for _, d := range first.AttributeDefinitions {
		attributeTypes[d["AttributeName"]] = d["AttributeType"]
	}
	for _, d := range second.AttributeDefinitions {
		if before, ok := attributeTypes[d["AttributeName"]]; ok && before != d["AttributeType"] {
			return false
		}
	}
	return true
}

// replacementCauses returns the properties whose change replaces the resource, or may replace it.
func replacementCauses(r types.ResourceChange) (out []string) {
	for _, d := range r.Details {
		if d.Target == nil || d.Target.RequiresRecreation == types.RequiresRecreationNever {
			continue
		}
		if name := valueOr(aws.ToString(d.Target.Name), string(d.Target.Attribute)); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// checkOnlyTableChanges returns an error unless the update only modifies the table. It ignores
// other resources with properties that refer to the table. CloudFormation lists these resources
// because it cannot tell whether they change.
func (c changeSet) checkOnlyTableChanges() error {
	for _, r := range c.changes {
		if aws.ToString(r.LogicalResourceId) == infra.TableID && r.Action == types.ChangeActionModify {
			continue
		}
		isDependent := r.Action == types.ChangeActionModify && len(r.Details) > 0
		for _, d := range r.Details {
			isDependent = isDependent && d.Evaluation == types.EvaluationTypeDynamic && d.CausingEntity != nil
		}
		if !isDependent {
			return fmt.Errorf("the update should change only the table, but would also %s %s: another program has changed the stack", strings.ToLower(string(r.Action)), describeResource(r))
		}
	}
	return nil
}
