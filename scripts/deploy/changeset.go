package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"growthworkspace/infra"
)

// changeSetName is the name of the change set of every update. The CDK deletes a change set that an
// interrupted deploy left behind.
const changeSetName = "growth-workspace-deploy"

// changeSet describes what an update would change in a stack.
type changeSet struct {
	Status  string           `xml:"DescribeChangeSetResult>Status"`
	Reason  string           `xml:"DescribeChangeSetResult>StatusReason"`
	Changes []resourceChange `xml:"DescribeChangeSetResult>Changes>member>ResourceChange"`
	Next    string           `xml:"DescribeChangeSetResult>NextToken"`
}

// resourceChange describes what an update would change in a resource.
type resourceChange struct {
	Action       string // "Add", "Modify", "Remove", "Import" or "Dynamic"
	ID           string `xml:"LogicalResourceId"`
	Type         string `xml:"ResourceType"`
	Replacement  string // "True", "False" or "Conditional"; set only if Action is "Modify"
	PolicyAction string // what happens to a resource that is removed or replaced, such as "Retain"
	Details      []struct {
		Attribute          string `xml:"Target>Attribute"` // "Properties", "Metadata", "Tags", …
		Property           string `xml:"Target>Name"`
		RequiresRecreation string `xml:"Target>RequiresRecreation"` // "Always", "Conditionally" or "Never"
		Evaluation         string // "Static", or "Dynamic" if CloudFormation knows the value only during the update
		Cause              string `xml:"CausingEntity"`
	} `xml:"Details>member"`
}

// changeSet requests a change set with all its changes.
func (a *account) changeSet(ctx context.Context, stack string) (out changeSet, err error) {
	for next := ""; ; {
		form := url.Values{"Action": {"DescribeChangeSet"}, "StackName": {stack}, "ChangeSetName": {changeSetName}}
		if next != "" {
			form.Set("NextToken", next)
		}
		var page changeSet
		if err := a.callQueryAPI(ctx, "cloudformation", cloudFormationVersion, form, &page); err != nil {
			return changeSet{}, fmt.Errorf("read the change set of the stack %s: %w", stack, err)
		}
		page.Changes = append(out.Changes, page.Changes...)
		if out, next = page, page.Next; next == "" {
			return out, nil
		}
	}
}

// deleteChangeSet deletes the change set without executing it.
func (a *account) deleteChangeSet(ctx context.Context, stack string) error {
	form := url.Values{"Action": {"DeleteChangeSet"}, "StackName": {stack}, "ChangeSetName": {changeSetName}}
	if err := a.callQueryAPI(ctx, "cloudformation", cloudFormationVersion, form, &struct{}{}); err != nil {
		return fmt.Errorf("delete the change set of the stack %s: %w", stack, err)
	}
	return nil
}

// isEmpty reports whether the update would change nothing.
func (c changeSet) isEmpty() bool {
	return c.Status == "FAILED" && (strings.Contains(c.Reason, "didn't contain changes") || strings.Contains(c.Reason, "No updates are to be performed"))
}

// lastingTypes are the types of the resources that a deploy must not replace or remove: the table
// contains the records, and the API and its stage determine the base URL.
var lastingTypes = []string{"AWS::DynamoDB::Table", "AWS::ApiGateway::RestApi", "AWS::ApiGateway::Stage"}

// check returns an error if the change set replaces or removes the table, the API or its stage.
// deployed and next are the templates before and after the update. releasesTable reports whether
// the operator chose a different table, so that the stack retains its own table but no longer
// manages it.
func (c changeSet) check(deployed, next template, releasesTable bool) error {
	var problems []error
	for _, change := range c.Changes {
		if !slices.Contains(lastingTypes, change.Type) {
			continue
		}
		what := "the resource " + change.ID + " (" + change.Type + ")"
		switch {
		case change.Action == "Remove" && change.ID == infra.TableID && releasesTable && change.PolicyAction == "Retain":
		case change.Action == "Remove":
			problems = append(problems, errors.New("it removes "+what))
		case change.Action == "Modify" && c.mayReplace(change, deployed, next):
			problems = append(problems, errors.New("it replaces "+what+", because of "+strings.Join(change.replacementCauses(), ", ")))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("the deploy is refused, and nothing was changed:\n%w\nThe records are in the table, and every client has the URL of the API. Undo this change of the definition", errors.Join(problems...))
}

// mayReplace reports whether an update may replace a resource of one of the lastingTypes.
func (c changeSet) mayReplace(change resourceChange, deployed, next template) bool {
	if change.Replacement != "Conditional" {
		return change.Replacement != "False"
	}
	for _, d := range change.Details {
		if d.RequiresRecreation == "Never" {
			continue
		}
		// A property that refers to another resource changes only if that resource is replaced.
		cause, _, _ := strings.Cut(d.Cause, ".")
		other := slices.IndexFunc(c.Changes, func(r resourceChange) bool { return r.ID == cause && r.ID != change.ID })
		if d.Evaluation == "Dynamic" && other >= 0 && !c.mayReplace(c.Changes[other], deployed, next) {
			continue
		}
		// CloudFormation reports that a change to the attribute definitions or the indexes may
		// replace the table. The table is replaced only if its primary key changes, or the type of
		// an attribute that was already defined.
		if change.Type == "AWS::DynamoDB::Table" && (d.Property == "AttributeDefinitions" || d.Property == "GlobalSecondaryIndexes") && sameTableKeys(deployed, next) {
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
	types := map[any]any{}
	for _, d := range first.AttributeDefinitions {
		types[d["AttributeName"]] = d["AttributeType"]
	}
	for _, d := range second.AttributeDefinitions {
		if before, ok := types[d["AttributeName"]]; ok && before != d["AttributeType"] {
			return false
		}
	}
	return true
}

// replacementCauses returns the properties whose change replaces the resource, or may replace it.
func (r resourceChange) replacementCauses() (out []string) {
	for _, d := range r.Details {
		if name := valueOr(d.Property, d.Attribute); d.RequiresRecreation != "Never" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// checkOnlyTableChanges returns an error unless the only change is the given action on the table.
// The action is "Modify" or "Import". It ignores other resources with properties that refer to the
// table. CloudFormation lists these resources because it cannot tell whether they change.
func (c changeSet) checkOnlyTableChanges(action string) error {
	for _, r := range c.Changes {
		if r.ID == infra.TableID && r.Action == action {
			continue
		}
		isDependent := r.Action == "Modify" && len(r.Details) > 0
		for _, d := range r.Details {
			isDependent = isDependent && d.Evaluation == "Dynamic" && d.Cause != ""
		}
		if !isDependent {
			return fmt.Errorf("the update should change only the table, but would also %s %s (%s): another program has changed the stack", r.verb(), r.ID, r.Type)
		}
	}
	return nil
}

// print lists the changes. With details, it also lists the properties that change.
func (c changeSet) print(out io.Writer, details bool) {
	changes := slices.Clone(c.Changes)
	slices.SortStableFunc(changes, func(a, b resourceChange) int { return strings.Compare(a.verb()+a.ID, b.verb()+b.ID) })
	for _, r := range changes {
		text := ""
		if details {
			text = r.properties()
		}
		fmt.Fprintf(out, "%-9s %s (%s)%s\n", r.verb(), r.ID, r.Type, text)
	}
}

// verb describes in one word what happens to the resource.
func (r resourceChange) verb() string {
	switch {
	case r.Action == "Modify" && r.Replacement == "True":
		return "replace"
	case r.Action == "Remove" && r.PolicyAction == "Retain":
		return "release"
	}
	return strings.ToLower(r.Action)
}

// summary returns the number of changes for each verb.
func (c changeSet) summary() string {
	count := map[string]int{}
	for _, r := range c.Changes {
		count[r.verb()]++
	}
	var parts []string
	for _, verb := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s %d", verb, count[verb]))
	}
	return strings.Join(parts, ", ")
}

// properties lists what changes in the resource.
func (r resourceChange) properties() string {
	var names []string
	for _, d := range r.Details {
		if name := valueOr(d.Property, d.Attribute); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := ": " + strings.Join(names, ", ")
	if r.Replacement == "Conditional" {
		text += "; may be replaced"
	}
	return text
}
