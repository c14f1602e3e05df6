package infra

// Output is a value that is shown to the operator when the stack is deployed.
type Output struct {
	Name        string
	Description string
	Value       Object
}

func outputs() []Output {
	first := "AWS_REGION=${AWS::Region} go run ./scripts/workspace company create --table ${Name} --name Acme --issue-key"
	return []Output{
		{"BaseUrl", "The URL of the service", Sub(BaseURL)},
		{"TableName", "The table, for the command line: --table", tableName()},
		{"AlarmTopicArn", "The SNS topic of the alarms", Ref(alarmTopicID)},
		{"ParkedChangesUrl", "The SQS queue of the records that the feed of changes could not read", Ref(ParkedQueueID)},
		{"FirstKeyCommand", "Creates a company and its first key",
			Object{{"Fn::Sub", List{first, Object{{"Name", tableName()}}}}}},
	}
}
