package infra

// The parameters of the throughput of the table and of each of its indexes, in units per second. If
// a parameter is 0, the template omits the property. DynamoDB makes one kind of change to a table
// at a time, and refuses to lower a warm throughput. So scripts/deploy refuses to change these
// parameters together with an index, and never lowers a warm throughput.
const (
	ParamMaxReads   = "MaxReadUnits"
	ParamMaxWrites  = "MaxWriteUnits"
	ParamWarmReads  = "WarmReadUnits"
	ParamWarmWrites = "WarmWriteUnits"
)

// ThroughputParameters lists the names of the parameters above.
var ThroughputParameters = []string{ParamMaxReads, ParamMaxWrites, ParamWarmReads, ParamWarmWrites}

func throughputParameters() []Parameter {
	unitsParameter := func(name, description string) Parameter {
		return Parameter{Name: name, Type: "Number", Default: 0, Pattern: "^(0|[1-9][0-9]{0,8})$", Description: description}
	}
	return []Parameter{
		unitsParameter(ParamMaxReads, "The maximum of read units a second of the stack's table, and of each index: DynamoDB throttles more, and so limits the bill; 0: no maximum"),
		unitsParameter(ParamMaxWrites, "The maximum of write units a second of the stack's table, and of each index; 0: no maximum"),
		unitsParameter(ParamWarmReads, "Read units a second that the stack's table, and each index, can serve at once, before DynamoDB has scaled; can only be raised, and each increase is charged once; 0: as DynamoDB scales"),
		unitsParameter(ParamWarmWrites, "Write units a second that the stack's table, and each index, can serve at once; can only be raised, and each increase is charged once; 0: as DynamoDB scales"),
	}
}

// throughputConditionName returns the name of the condition that is true if a throughput parameter
// is not 0.
func throughputConditionName(parameter string) string { return "Has" + parameter }

func throughputConditions() (out Object) {
	for _, name := range ThroughputParameters {
		out = append(out, Field{throughputConditionName(name), notCondition(equalsCondition(name, "0"))})
	}
	return out
}

// throughput returns the throughput properties of the table or of an index.
func throughput() Object {
	return Object{
		{"OnDemandThroughput", throughputUnits("MaxReadRequestUnits", ParamMaxReads, "MaxWriteRequestUnits", ParamMaxWrites)},
		{"WarmThroughput", throughputUnits("ReadUnitsPerSecond", ParamWarmReads, "WriteUnitsPerSecond", ParamWarmWrites)},
	}
}

// throughputUnits returns an object with the parameters that are set, or AWS::NoValue if none is.
func throughputUnits(readName, reads, writeName, writes string) Object {
	read, write := Field{readName, Ref(reads)}, Field{writeName, Ref(writes)}
	return IfCondition(throughputConditionName(reads),
		IfCondition(throughputConditionName(writes), Object{read, write}, Object{read}),
		IfCondition(throughputConditionName(writes), Object{write}, Ref("AWS::NoValue")))
}
