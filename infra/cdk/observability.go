package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"growthworkspace/infra"
)

// observability makes what an operator sees and is told.
func (s stack) observability() {
	awslogs.NewCfnMetricFilter(s.scope, jsii.String(infra.ThrottledFilterID), &awslogs.CfnMetricFilterProps{
		LogGroupName: text(infra.Ref(infra.GatewayLogsID)), FilterPattern: jsii.String(infra.ThrottledPattern),
		MetricTransformations: []any{&awslogs.CfnMetricFilter_MetricTransformationProperty{
			MetricNamespace: text(infra.StackNamespace()), MetricName: jsii.String(infra.GatewayThrottled),
			MetricValue: jsii.String("1"), DefaultValue: jsii.Number(0),
		}},
	})
	topic := awssns.NewCfnTopic(s.scope, jsii.String(infra.AlarmTopicID), nil)
	awssns.NewCfnTopicPolicy(s.scope, jsii.String(infra.AlarmTopicID+"Policy"), &awssns.CfnTopicPolicyProps{
		Topics: &[]*string{topic.Ref()}, PolicyDocument: infra.JSON(infra.AlarmTopicPolicy()),
	})
	email := awssns.NewCfnSubscription(s.scope, jsii.String(infra.AlarmTopicID+"Email"), &awssns.CfnSubscriptionProps{
		TopicArn: topic.Ref(), Protocol: jsii.String("email"), Endpoint: text(infra.Ref(infra.ParamAlarmEmail)),
	})
	s.only(email, infra.IfEmail)
	for _, a := range s.model.Alarms {
		s.alarm(a)
	}
	awscloudwatch.NewCfnDashboard(s.scope, jsii.String(infra.DashboardID), &awscloudwatch.CfnDashboardProps{
		DashboardName: text(infra.DashboardName()), DashboardBody: text(s.model.Dashboard()),
	})
}

func (s stack) alarm(a infra.Alarm) {
	var notify []any
	for _, target := range infra.AlarmTargets() {
		notify = append(notify, text(target))
	}
	props := &awscloudwatch.CfnAlarmProps{
		AlarmDescription: &a.Description, AlarmActions: &notify, OkActions: &notify,
		ComparisonOperator: jsii.String("GreaterThanThreshold"), Threshold: number(infra.Ref(a.Threshold.Name)),
		EvaluationPeriods: jsii.Number(a.Periods), TreatMissingData: jsii.String("notBreaching"),
	}
	if len(a.Metrics) == 1 {
		m := a.Metrics[0]
		props.Namespace, props.MetricName, props.Period = text(m.Namespace), &m.Name, jsii.Number(infra.AlarmPeriod)
		if len(m.Dimensions) > 0 {
			props.Dimensions = dimensions(m)
		}
		props.Statistic = &m.Statistic
		if m.Percentile() {
			props.Statistic, props.ExtendedStatistic = nil, &m.Statistic
		}
	} else {
		props.Metrics = sum(a)
	}
	awscloudwatch.NewCfnAlarm(s.scope, jsii.String(a.ID+"Alarm"), props)
}

// sum adds the metrics of an alarm up.
func sum(a infra.Alarm) []any {
	out := []any{&awscloudwatch.CfnAlarm_MetricDataQueryProperty{
		Id: jsii.String("all"), Expression: jsii.String(infra.SumExpression), Label: &a.ID, ReturnData: true,
	}}
	for i, m := range a.Metrics {
		out = append(out, &awscloudwatch.CfnAlarm_MetricDataQueryProperty{
			Id: jsii.String(infra.MetricID(i)), ReturnData: false,
			MetricStat: &awscloudwatch.CfnAlarm_MetricStatProperty{
				Metric: &awscloudwatch.CfnAlarm_MetricProperty{Namespace: text(m.Namespace), MetricName: &m.Name, Dimensions: dimensions(m)},
				Period: jsii.Number(infra.AlarmPeriod), Stat: &m.Statistic,
			},
		})
	}
	return out
}

func dimensions(m infra.Metric) []any {
	var out []any
	for _, d := range m.Dimensions {
		out = append(out, &awscloudwatch.CfnAlarm_DimensionProperty{Name: &d.Name, Value: text(d.Value)})
	}
	return out
}
