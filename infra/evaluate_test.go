package infra_test

import (
	"slices"
	"strings"
	"testing"

	"growthworkspace/infra"
)

// tableInTests is the name of the stack's table.
const tableInTests = "workspace"

// tableARN is the ARN of the stack's table in the tests. foreignARN is the ARN of a different
// table.
const (
	tableARN   = "arn:aws:dynamodb:eu-central-1:111122223333:table/" + tableInTests
	foreignARN = "arn:aws:dynamodb:eu-central-1:111122223333:table/other"
)

// callAccess is a call as IAM sees it.
type callAccess struct {
	action        string
	resource      string
	partitionKeys []string // the partition keys in the call; nil if there are none
}

// policy is a policy document of the template, with its references resolved.
type policy []statement

type statement struct {
	effect             string
	actions, resources []string
	conditions         map[string]map[string][]string
}

func policyOf(t *testing.T, f infra.Function) policy {
	t.Helper()
	return parsePolicy(t, f.Name, resolveReferences(t, infra.JSON(f.Policy()), "").(map[string]any))
}

// policyDuringSwitch returns the policy of a function's role while the stack switches from its
// table to a second one.
func policyDuringSwitch(t *testing.T, f infra.Function, second string) policy {
	t.Helper()
	return parsePolicy(t, f.Name, resolveReferences(t, infra.JSON(f.Policy()), second).(map[string]any))
}

// parsePolicy parses a policy document. The name is used in error messages.
func parsePolicy(t *testing.T, name string, document map[string]any) policy {
	t.Helper()
	if document["Version"] != "2012-10-17" {
		t.Errorf("%s: version %v of the policy language", name, document["Version"])
	}
	var out policy
	for _, raw := range document["Statement"].([]any) {
		fields := raw.(map[string]any)
		s := statement{fields["Effect"].(string), asList(fields["Action"]), asList(fields["Resource"]), map[string]map[string][]string{}}
		if s.effect != "Allow" && s.effect != "Deny" {
			t.Fatalf("%s: IAM has no effect %s", name, s.effect)
		}
		for field := range fields {
			if !slices.Contains([]string{"Sid", "Effect", "Action", "Resource", "Condition"}, field) {
				t.Fatalf("%s: this evaluator does not support %s", name, field)
			}
		}
		conditions, _ := fields["Condition"].(map[string]any)
		for operator, keys := range conditions {
			if operator != "ForAllValues:StringLike" && operator != "Null" {
				t.Fatalf("%s: this evaluator does not support %s", name, operator)
			}
			s.conditions[operator] = map[string][]string{}
			for key, values := range keys.(map[string]any) {
				if key != "dynamodb:LeadingKeys" {
					t.Fatalf("%s: this evaluator does not support %s", name, key)
				}
				s.conditions[operator][key] = asList(values)
			}
		}
		out = append(out, s)
	}
	return out
}

// resolveReferences replaces references as CloudFormation does for a stack that creates its own
// table. `second` is the name of the second table, or empty if the stack does not switch tables.
func resolveReferences(t *testing.T, value any, second string) any {
	t.Helper()
	resolve := func(value any) any { return resolveReferences(t, value, second) }
	switch v := value.(type) {
	case []any:
		out := []any{}
		for i := range v {
			if resolved := resolve(v[i]); resolved != nil {
				out = append(out, resolved)
			}
		}
		return out
	case map[string]any:
		names := []string{"${AWS::Partition}", "aws", "${AWS::Region}", "eu-central-1", "${AWS::AccountId}", "111122223333", "${SecondTableName}", second}
		if text, ok := v["Fn::Sub"].(string); ok {
			return strings.NewReplacer(names...).Replace(text)
		}
		if arguments, ok := v["Fn::Sub"].([]any); ok {
			names = append(names, "${Name}", resolve(arguments[1].(map[string]any)["Name"]).(string))
			return strings.NewReplacer(names...).Replace(arguments[0].(string))
		}
		if arguments, ok := v["Fn::If"].([]any); ok {
			if arguments[0] == "HasSecondTable" && second == "" {
				return resolve(arguments[2])
			}
			return resolve(arguments[1])
		}
		if arguments, ok := v["Fn::GetAtt"].([]any); ok {
			if arguments[1] == "StreamArn" {
				return tableARN + "/stream/1"
			}
			return "arn:of:" + arguments[0].(string)
		}
		switch v["Ref"] {
		case infra.TableID:
			return tableInTests
		case "AWS::NoValue":
			return nil
		}
		out := map[string]any{}
		for name := range v {
			if name == "Ref" || strings.HasPrefix(name, "Fn::") {
				t.Fatalf("this evaluator does not support %v", v)
			}
			out[name] = resolve(v[name])
		}
		return out
	}
	return value
}

func asList(value any) (out []string) {
	if text, ok := value.(string); ok {
		return []string{text}
	}
	for _, v := range value.([]any) {
		out = append(out, v.(string))
	}
	return out
}

// allows reports whether IAM allows an access. IAM allows it if at least one statement allows it
// and none denies it.
func (p policy) allows(a callAccess) bool {
	allowed := false
	for _, s := range p {
		switch {
		case !s.covers(a):
		case s.effect == "Deny":
			return false
		case s.effect == "Allow":
			allowed = true
		}
	}
	return allowed
}

func (s statement) covers(a callAccess) bool {
	matches := func(patterns []string, text string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return matchesWildcard(p, text) })
	}
	if !matches(s.actions, a.action) || !matches(s.resources, a.resource) {
		return false
	}
	for operator, keys := range s.conditions {
		for _, values := range keys {
			switch operator {
			case "Null": // "false" requires that the call has partition keys
				if (a.partitionKeys == nil) != (values[0] == "true") {
					return false
				}
			case "ForAllValues:StringLike": // true if the call has no partition keys
				for _, key := range a.partitionKeys {
					if !matches(values, key) {
						return false
					}
				}
			}
		}
	}
	return true
}

// matchesWildcard reports whether a string matches a pattern with IAM's wildcards: "*" matches any
// number of characters, and "?" matches exactly one.
func matchesWildcard(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	switch pattern[0] {
	case '*':
		for i := 0; i <= len(text); i++ {
			if matchesWildcard(pattern[1:], text[i:]) {
				return true
			}
		}
		return false
	case '?':
		return text != "" && matchesWildcard(pattern[1:], text[1:])
	}
	return text != "" && text[0] == pattern[0] && matchesWildcard(pattern[1:], text[1:])
}

// Ensure policy.allows decides like IAM, because a mistake in it could hide a mistake in a policy.
func TestEvaluator(t *testing.T) {
	t.Parallel()
	allow := statement{"Allow", []string{"dynamodb:Get*"}, []string{tableARN}, map[string]map[string][]string{
		"ForAllValues:StringLike": {"dynamodb:LeadingKeys": {"c?#a", "c?#a#*"}}, "Null": {"dynamodb:LeadingKeys": {"false"}},
	}}
	withoutNull := allow
	withoutNull.conditions = map[string]map[string][]string{"ForAllValues:StringLike": allow.conditions["ForAllValues:StringLike"]}
	lower := allow
	lower.effect = "allow"
	deny := statement{"Deny", []string{"dynamodb:GetItem"}, []string{"*"}, nil}
	get := func(leading ...string) callAccess { return callAccess{"dynamodb:GetItem", tableARN, leading} }
	for name, test := range map[string]struct {
		p    policy
		a    callAccess
		want bool
	}{
		"own partition":           {policy{allow}, get("c1#a"), true},
		"narrowed":                {policy{allow}, get("c1#a#b#c"), true},
		"another area":            {policy{allow}, get("c1#ab"), false},
		"a longer company":        {policy{allow}, get("c12#a"), false},
		"one of two is another's": {policy{allow}, get("c1#a", "c1#b"), false},
		"no keys":                 {policy{allow}, get(), false},
		"no keys, no Null":        {policy{withoutNull}, get(), true},
		"another table":           {policy{allow}, callAccess{"dynamodb:GetItem", foreignARN, []string{"c1#a"}}, false},
		"an index":                {policy{allow}, callAccess{"dynamodb:GetItem", tableARN + "/index/gsi1", []string{"c1#a"}}, false},
		"another action":          {policy{allow}, callAccess{"dynamodb:PutItem", tableARN, []string{"c1#a"}}, false},
		"allowed and denied":      {policy{allow, deny}, get("c1#a"), false},
		"an unknown effect":       {policy{lower}, get("c1#a"), false},
		"nothing":                 {nil, get("c1#a"), false},
	} {
		if got := test.p.allows(test.a); got != test.want {
			t.Errorf("%s: allowed %t, want %t", name, got, test.want)
		}
	}
}
