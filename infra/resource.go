package infra

// PlainResources are the resources that are the same, letter for letter, in template.yaml and in the CDK stack.
func (m Model) PlainResources() Object {
	out := Object{{TableID, tableResource()}}
	for _, f := range m.Functions {
		out = append(out, Field{f.RoleID(), f.roleResource()}, Field{f.LogsID(), logGroup()})
	}
	out = append(out,
		Field{GatewayLogsID, logGroup()},
		Field{AccountRoleID, accountRole()},
		Field{AccountID, account()},
		Field{ThrottledFilterID, throttledFilter()},
		Field{AlarmTopicID, alarmTopic()},
		Field{AlarmTopicID + "Policy", alarmTopicPolicy()},
		Field{AlarmTopicID + "Email", alarmEmail()})
	for _, a := range m.Alarms {
		out = append(out, Field{a.ID + "Alarm", a.resource()})
	}
	return append(out, Field{DashboardID, m.dashboardResource()})
}

// roleResource is the role of a function: exactly its statements, and none of AWS's own policies.
func (f Function) roleResource() Object {
	return Object{{"Type", "AWS::IAM::Role"}, {"Properties", Object{
		{"AssumeRolePolicyDocument", AssumedBy("lambda.amazonaws.com")},
		{"Policies", List{Object{{"PolicyName", PolicyName}, {"PolicyDocument", f.Policy()}}}},
	}}}
}

// AssumedBy lets a service of AWS take a role on.
func AssumedBy(service string) Object {
	return Object{{"Version", "2012-10-17"}, {"Statement", List{Object{
		{"Effect", "Allow"}, {"Principal", Object{{"Service", service}}}, {"Action", "sts:AssumeRole"},
	}}}}
}

// logGroup is a group of logs. It goes with its stack: what must be kept of it is kept elsewhere.
func logGroup() Object {
	return Object{
		{"Type", "AWS::Logs::LogGroup"}, {"DeletionPolicy", "Delete"}, {"UpdateReplacePolicy", "Delete"},
		{"Properties", Object{{"RetentionInDays", Ref(ParamRetention)}}},
	}
}

// accountRole lets API Gateway write access logs. An account has one such role for each region, so it stays when the
// stack goes.
func accountRole() Object {
	return Object{
		{"Type", "AWS::IAM::Role"}, {"Condition", IfGatewayLogs}, {"DeletionPolicy", "Retain"}, {"UpdateReplacePolicy", "Retain"},
		{"Properties", Object{
			{"AssumeRolePolicyDocument", AssumedBy("apigateway.amazonaws.com")},
			{"ManagedPolicyArns", List{GatewayLogsPolicy()}},
		}},
	}
}

// GatewayLogsPolicy is AWS's own policy for that role.
func GatewayLogsPolicy() Object {
	return Sub("arn:${AWS::Partition}:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs")
}

func account() Object {
	return Object{
		{"Type", "AWS::ApiGateway::Account"}, {"Condition", IfGatewayLogs}, {"DeletionPolicy", "Retain"}, {"UpdateReplacePolicy", "Retain"},
		{"Properties", Object{{"CloudWatchRoleArn", Attribute(AccountRoleID, "Arn")}}},
	}
}

// ThrottledPattern finds what the gateway refused for its number in the access log.
const ThrottledPattern = `{ $.refusal = "THROTTLED" || $.refusal = "QUOTA_EXCEEDED" }`

// throttledFilter counts what the gateway throttles: it has no metric of its own for that.
func throttledFilter() Object {
	return Object{{"Type", "AWS::Logs::MetricFilter"}, {"Properties", Object{
		{"LogGroupName", Ref(GatewayLogsID)},
		{"FilterPattern", ThrottledPattern},
		{"MetricTransformations", List{Object{
			{"MetricNamespace", StackNamespace()}, {"MetricName", GatewayThrottled}, {"MetricValue", "1"}, {"DefaultValue", 0},
		}}},
	}}}
}

// alarmTopic is where alarms go. It is always there, so that an operator can subscribe whatever listens.
func alarmTopic() Object { return Object{{"Type", "AWS::SNS::Topic"}} }

func alarmEmail() Object {
	return Object{{"Type", "AWS::SNS::Subscription"}, {"Condition", IfEmail}, {"Properties", Object{
		{"TopicArn", Ref(AlarmTopicID)}, {"Protocol", "email"}, {"Endpoint", Ref(ParamAlarmEmail)},
	}}}
}

func alarmTopicPolicy() Object {
	return Object{{"Type", "AWS::SNS::TopicPolicy"}, {"Properties", Object{
		{"Topics", List{Ref(AlarmTopicID)}}, {"PolicyDocument", AlarmTopicPolicy()},
	}}}
}

// AlarmTopicPolicy lets the alarms of this account publish, and nobody over a connection that is not encrypted.
func AlarmTopicPolicy() Object {
	return Object{{"Version", "2012-10-17"}, {"Statement", List{
		Object{
			{"Sid", "Alarms"}, {"Effect", "Allow"}, {"Principal", Object{{"Service", "cloudwatch.amazonaws.com"}}},
			{"Action", "sns:Publish"}, {"Resource", Ref(AlarmTopicID)},
			{"Condition", Object{{"StringEquals", Object{{"aws:SourceAccount", Ref("AWS::AccountId")}}}}},
		},
		Object{
			{"Sid", "OnlyEncrypted"}, {"Effect", "Deny"}, {"Principal", "*"}, {"Action", "sns:Publish"},
			{"Resource", Ref(AlarmTopicID)}, {"Condition", Object{{"Bool", Object{{"aws:SecureTransport", "false"}}}}},
		},
	}}}
}

func (m Model) dashboardResource() Object {
	return Object{{"Type", "AWS::CloudWatch::Dashboard"}, {"Properties", Object{
		{"DashboardName", DashboardName()}, {"DashboardBody", m.Dashboard()},
	}}}
}
