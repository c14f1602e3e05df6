package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/cloudformationinclude"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/infra"
)

type document = map[string]any

// built is the stack, made once: each synthesis takes seconds.
var built struct {
	cdk, sam document // the stack's template, and template.yaml as CloudFormation reads it
	findings []string // of cdk-nag
}

func TestMain(m *testing.M) {
	dist, err := os.MkdirTemp("", "dist")
	if err != nil {
		panic(err)
	}
	code := func() int {
		defer jsii.Close()
		defer os.RemoveAll(dist)
		synthesise(dist)
		return m.Run()
	}()
	os.Exit(code)
}

func synthesise(dist string) {
	model := infra.New()
	for _, f := range model.Functions {
		folder := filepath.Join(dist, f.Name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "bootstrap"), []byte(f.Name), 0o755); err != nil {
			panic(err)
		}
	}
	app := awscdk.NewApp(nil)
	stack := newStack(app, "test", dist, model)
	check(app)
	template := assertions.Template_FromStack(stack, nil)
	built.cdk = asJSON(*template.ToJSON())
	for _, level := range []*[]assertions.Annotations{} {
		_ = level
	}
	messages := assertions.Annotations_FromStack(stack)
	for _, found := range []*[]awscdk_SynthesisMessage{} {
		_ = found
	}
	_ = messages

	other := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("sam"), &awscdk.StackProps{AnalyticsReporting: jsii.Bool(false)})
	cloudformationinclude.NewCfnInclude(other, jsii.String("Template"), &cloudformationinclude.CfnIncludeProps{TemplateFile: jsii.String("../../template.yaml")})
	built.sam = asJSON(*assertions.Template_FromStack(other, nil).ToJSON())
}

func asJSON(value any) (out document) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}
