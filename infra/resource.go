package infra

import "slices"

// PlainResources returns the resources that are the same in template.yaml and in the CDK stack.
func (m Model) PlainResources() Object {
	out := Object{{TableID, tableResource()}}
	for _, f := range m.Functions {
		out = append(out, Field{f.RoleID(), f.roleResource()}, Field{f.LogsID(), logGroup()})
	}
	out = append(out, streamResources()...)
	out = append(out,
		Field{gatewayLogsID, logGroup()},
		Field{AccountRoleID, accountRole()},
		Field{gatewayAccountID, accountResource()},
		Field{GatewayThrottled, throttledFilter()})
	for _, q := range queries() {
		out = append(out, Field{q.ID, q.resource(m.Functions)})
	}
	out = append(out, slices.Concat(domainResources(), firewallResources())...)
	out = append(out,
		// The topic exists even if there is no email address, so that an operator can subscribe to
		// it.
		Field{AlarmTopicID, Object{{"Type", "AWS::SNS::Topic"}}},
		Field{AlarmTopicID + "Policy", alarmTopicPolicy()},
		Field{AlarmTopicID + "Email", alarmEmail()})
	for _, a := range m.Alarms {
		out = append(out, Field{a.resourceID(), a.resource()})
	}
	return append(out, Field{"Dashboard", resource("AWS::CloudWatch::Dashboard", Object{
		{"DashboardName", Sub("${AWS::StackName}-${AWS::Region}")}, {"DashboardBody", m.Dashboard()},
	})})
}

// roleResource returns the role of a function, which has exactly the function's statements and no
// managed policy.
func (f Function) roleResource() Object {
	return resource("AWS::IAM::Role", Object{
		{"AssumeRolePolicyDocument", assumeRolePolicy("lambda.amazonaws.com")},
		{"Policies", List{Object{{"PolicyName", "Exactly"}, {"PolicyDocument", f.Policy()}}}},
	})
}

// assumeRolePolicy returns the policy that allows an AWS service to assume a role.
func assumeRolePolicy(service string) Object {
	return policyDocument(Object{
		{"Effect", "Allow"}, {"Principal", Object{{"Service", service}}}, {"Action", "sts:AssumeRole"},
	})
}

func policyDocument(statements ...any) Object {
	return Object{{"Version", "2012-10-17"}, {"Statement", List(statements)}}
}

// onDelete returns the resource with the given policy, Delete or Retain. The policy applies when
// the resource or its stack is deleted.
func onDelete(policy string, resource Object) Object {
	return append(resource, Field{"DeletionPolicy", policy}, Field{"UpdateReplacePolicy", policy})
}

// onlyIf returns the resource with a condition: the stack contains it only if the condition is
// true.
func onlyIf(condition string, resource Object) Object {
	return append(resource, Field{"Condition", condition})
}

// logGroup returns a log group. It is retained when its stack is deleted, because its lines show
// who did what until their retention period ends. Its name is generated, so a new stack never
// collides with an old log group. If the creation of a stack fails, no log group is left behind.
func logGroup() Object {
	return append(resource("AWS::Logs::LogGroup", Object{{"RetentionInDays", Ref(ParamRetention)}}),
		Field{"DeletionPolicy", "RetainExceptOnCreate"}, Field{"UpdateReplacePolicy", "Retain"})
}

// accountRole returns the role with which API Gateway writes access logs. All stacks in an account
// and region share one such role, so it outlives this stack.
func accountRole() Object {
	return onlyIf(ifGatewayLogs, onDelete("Retain", resource("AWS::IAM::Role", Object{
		{"AssumeRolePolicyDocument", assumeRolePolicy("apigateway.amazonaws.com")},
		{"ManagedPolicyArns", List{
			Sub("arn:${AWS::Partition}:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"),
		}},
	})))
}

func accountResource() Object {
	return onlyIf(ifGatewayLogs, onDelete("Retain", resource("AWS::ApiGateway::Account", Object{
		{"CloudWatchRoleArn", Attribute(AccountRoleID, "Arn")},
	})))
}

// throttledFilter returns a metric filter that counts the requests that the gateway throttles, for
// which the gateway has no metric.
func throttledFilter() Object {
	return resource("AWS::Logs::MetricFilter", Object{
		{"LogGroupName", Ref(gatewayLogsID)},
		{"FilterPattern", `{ $.refusal = "THROTTLED" || $.refusal = "QUOTA_EXCEEDED" }`},
		{"MetricTransformations", List{Object{
			{"MetricNamespace", StackNamespace()}, {"MetricName", GatewayThrottled}, {"MetricValue", "1"}, {"DefaultValue", 0},
		}}},
	})
}

func alarmEmail() Object {
	return onlyIf(ifAlarmEmail, resource("AWS::SNS::Subscription", Object{
		{"TopicArn", Ref(AlarmTopicID)}, {"Protocol", "email"}, {"Endpoint", Ref(ParamAlarmEmail)},
	}))
}

// alarmTopicPolicy returns the policy that allows the alarms of this account to publish to the
// topic, and denies unencrypted connections.
func alarmTopicPolicy() Object {
	return resource("AWS::SNS::TopicPolicy", Object{{"Topics", List{Ref(AlarmTopicID)}}, {"PolicyDocument", policyDocument(
		Object{
			{"Sid", "Alarms"}, {"Effect", "Allow"}, {"Principal", Object{{"Service", "cloudwatch.amazonaws.com"}}},
			{"Action", "sns:Publish"}, {"Resource", Ref(AlarmTopicID)},
			{"Condition", Object{{"StringEquals", Object{{"aws:SourceAccount", Ref("AWS::AccountId")}}}}},
		},
		Object{
			{"Sid", "OnlyEncrypted"}, {"Effect", "Deny"}, {"Principal", "*"}, {"Action", "sns:Publish"},
			{"Resource", Ref(AlarmTopicID)}, {"Condition", Object{{"Bool", Object{{"aws:SecureTransport", "false"}}}}},
		},
	)}})
}
