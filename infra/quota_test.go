package infra_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"growthworkspace/infra"
	"growthworkspace/shared/table"
)

// AWS quotas that cannot be raised. Sources: the quotas pages of CloudFormation, IAM, DynamoDB,
// Lambda and API Gateway.
const (
	resourcesMax        = 500
	parametersMax       = 200
	outputsMax          = 200
	mappingsMax         = 200
	templateBytesMax    = 1 << 20
	policyCharactersMax = 10_240 // total of all inline policies of a role, without white space
	indexesMax          = 20
	environmentBytesMax = 4 << 10
	tableNameLengthMax  = 255
	// The name of a log group consists of the stack's name (100 characters are assumed), the
	// logical id and a suffix.
	logGroupARNLength = len("arn:aws:logs:ap-southeast-1:111122223333:log-group:-BroadcastLogs-ABCDEFGHIJKL:*") + 100
)

// modelWithMoreAreas returns the model with two more areas. Each is a copy of the area whose
// function has the largest policy.
func modelWithMoreAreas(t *testing.T) infra.Model {
	t.Helper()
	m := infra.New()
	var largest infra.Function
	size := 0
	for _, f := range m.Functions {
		if n := len(policyText(t, f, "")); f.Name != "mcp" && n > size {
			largest, size = f, n
		}
	}
	var names []string
	for _, name := range []string{"another", "further"} {
		f := largest
		f.Name, f.Routes, f.Grants = name, nil, nil
		for _, r := range largest.Routes {
			f.Routes = append(f.Routes, infra.Route{ID: r.ID, Path: strings.ReplaceAll(r.Path, largest.Name, name)})
		}
		for _, g := range largest.Grants {
			if g.Area == largest.Name {
				g.Area = name
			}
			f.Grants = append(f.Grants, g)
		}
		m.Functions = append(m.Functions, f)
		names = append(names, name)
	}
	for n, f := range m.Functions {
		if f.Name != "mcp" {
			continue
		}
		for _, name := range names {
			for _, g := range largest.Grants {
				if g.Area == largest.Name {
					g.Area = name
					f.Grants = append(f.Grants, g)
				}
			}
		}
		m.Functions[n] = f
	}
	m.Alarms = infra.Alarms(m.Functions)
	return m
}

// Ensure both templates stay within CloudFormation's quotas with two more areas.
func TestTemplateQuotas(t *testing.T) {
	t.Parallel()
	m := modelWithMoreAreas(t)
	if len(m.Functions) != len(infra.New().Functions)+2 {
		t.Fatal("the model has not grown")
	}
	code := func(f infra.Function) infra.Code {
		return infra.Code{Bucket: strings.Repeat("b", 63), Key: strings.Repeat("k", 100)}
	}
	document := infra.JSON(m.CloudFormation(code)).(map[string]any)
	for section, limit := range map[string]int{"Resources": resourcesMax, "Parameters": parametersMax, "Outputs": outputsMax, "Mappings": mappingsMax} {
		entries, _ := document[section].(map[string]any)
		t.Logf("%s: %d of %d", section, len(entries), limit)
		if len(entries) > limit || len(entries) == 0 && section != "Mappings" {
			t.Errorf("the template has %d %s, and CloudFormation accepts %d", len(entries), section, limit)
		}
	}
	text, err := json.MarshalIndent(document, "", " ") // formatted as the CDK formats it
	if err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"the CDK's template": len(text), "template.yaml": len(m.Text())} {
		t.Logf("%s: %d bytes of %d", name, size, templateBytesMax)
		if size > templateBytesMax {
			t.Errorf("%s has %d bytes, and CloudFormation accepts %d", name, size, templateBytesMax)
		}
	}
}

// Ensure a role's policy stays within IAM's quota with a table name of the maximum length, during a
// switch between tables with long names, and with two more areas and one more index. The runbook
// states these lengths.
func TestPolicyQuota(t *testing.T) {
	t.Parallel()
	for caseName, test := range map[string]struct {
		model               infra.Model
		nameLength, indexes int
		duringSwitch        bool
	}{
		"any table name":              {infra.New(), tableNameLengthMax, 0, false},
		"a switch":                    {infra.New(), 120, 0, true},
		"two more areas and an index": {modelWithMoreAreas(t), 200, 1, false},
		"two more areas and an index, and a switch": {modelWithMoreAreas(t), 60, 1, true},
	} {
		largest := 0
		for _, f := range test.model.Functions {
			tableName, second := strings.Repeat("x", test.nameLength), ""
			tables := 1
			if test.duringSwitch {
				second, tables = tableName, 2
			}
			policy, err := json.Marshal(resolveReferences(t, infra.JSON(f.Policy()), second))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(string(policy), tableInTests, tableName)
			size := len(text) + logGroupARNLength
			if strings.Contains(text, "/index/") {
				size += test.indexes * tables * len(fmt.Sprintf("%q,", strings.ReplaceAll(tableARN, tableInTests, tableName)+"/index/gsi10"))
			}
			largest = max(largest, size)
			if size > policyCharactersMax {
				t.Errorf("%s: the policy of %s could have %d characters, and IAM accepts %d", caseName, f.Name, size, policyCharactersMax)
			}
		}
		t.Logf("%s: %d of %d", caseName, largest, policyCharactersMax)
	}
}

// Ensure the table's quota leaves room for one more index during a deploy that also removes one.
func TestIndexQuota(t *testing.T) {
	t.Parallel()
	if n := len(table.Indexes()) + 2; n > indexesMax {
		t.Errorf("a deploy could need %d indexes, and DynamoDB accepts %d", n, indexesMax)
	}
}

// Ensure a function's environment stays within Lambda's quota when its values have the maximum
// length.
func TestEnvironmentQuota(t *testing.T) {
	t.Parallel()
	for _, f := range modelWithMoreAreas(t).Functions {
		size := 0
		for _, v := range f.Environment() {
			size += len(v.Name)
			if text, ok := v.Value.(string); ok {
				size += len(text)
			} else {
				size += tableNameLengthMax // no expression resolves to a longer value
			}
		}
		if size > environmentBytesMax {
			t.Errorf("%s: the environment could have %d bytes, and Lambda accepts %d", f.Name, size, environmentBytesMax)
		}
	}
}
