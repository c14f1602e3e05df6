package infra

// Output is what the operator is told when the stack is deployed.
type Output struct {
	Name        string
	Description string
	Value       Object
}

func outputs() []Output {
	first := "AWS_REGION=${AWS::Region} go run ./scripts/workspace company create --table ${Name} --name Acme" +
		" && AWS_REGION=${AWS::Region} go run ./scripts/workspace key issue --table ${Name} --company <the id it printed> --scopes all"
	return []Output{
		{"BaseUrl", "What every path begins with", Sub(BaseURL)},
		{"TableName", "The table, for the command line: --table", tableName()},
		{"AlarmTopicArn", "Where alarms go, for whatever is to be told of them", Ref(AlarmTopicID)},
		{"FirstKeyCommand", "Makes a company, and then a key for it",
			Object{{"Fn::Sub", List{first, Object{{"Name", tableName()}}}}}},
	}
}
