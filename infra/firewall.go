package infra

const (
	ParamAddressRate = "RatePerAddress"

	ifFirewall = "HasFirewall"

	firewallID            = "Firewall"
	firewallAssociationID = firewallID + "Association"

	// addressWindowSeconds is the time over which the firewall counts the requests of an address. A
	// blocked client that stops sending requests is admitted again after about that time.
	addressWindowSeconds = 60
	wafFiltered          = "WAF_FILTERED" // the gateway response to a blocked request
)

// firewallResources returns a web ACL that limits the request rate of each address, and its
// association with the stage. The rule blocks without a custom response, so that the gateway
// responds with its own envelope.
func firewallResources() Object {
	return Object{
		{firewallID, onlyIf(ifFirewall, resource("AWS::WAFv2::WebACL", Object{
			{"Scope", "REGIONAL"}, {"DefaultAction", Object{{"Allow", Object{}}}},
			{"Rules", List{Object{
				{"Name", ParamAddressRate}, {"Priority", 0}, {"Action", Object{{"Block", Object{}}}},
				{"Statement", Object{{"RateBasedStatement", Object{
					{"AggregateKeyType", "IP"}, {"EvaluationWindowSec", addressWindowSeconds}, {"Limit", Ref(ParamAddressRate)},
				}}}},
				{"VisibilityConfig", firewallMetric(ParamAddressRate)},
			}}},
			{"VisibilityConfig", firewallMetric(firewallID)},
		}))},
		{firewallAssociationID, onlyIf(ifFirewall, resource("AWS::WAFv2::WebACLAssociation", Object{
			{"ResourceArn", Sub("arn:${AWS::Partition}:apigateway:${AWS::Region}::/restapis/${" + APIID + "}/stages/${" + StageID + "}")},
			{"WebACLArn", Attribute(firewallID, "Arn")},
		}))},
	}
}

// firewallMetric makes AWS WAF count requests but not sample them. A sample contains the headers of
// the request, and therefore the caller's key.
func firewallMetric(name string) Object {
	return Object{{"CloudWatchMetricsEnabled", true}, {"MetricName", name}, {"SampledRequestsEnabled", false}}
}

func firewallParameters() []Parameter {
	return []Parameter{{Name: ParamAddressRate, Type: "Number", Default: 0, Pattern: "^(0|[1-9][0-9]{1,8})$",
		Description: "Requests a minute that AWS WAF admits from each IP address, at least 10; 0: no AWS WAF, which is billed separately"}}
}

func firewallConditions() Object {
	return Object{{ifFirewall, notCondition(equalsCondition(ParamAddressRate, "0"))}}
}
