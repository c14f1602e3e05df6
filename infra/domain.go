package infra

const (
	ParamDomain      = "DomainName"
	ParamCertificate = "CertificateArn"
	ParamHostedZone  = "HostedZoneId"

	ifDomain        = "HasDomain"
	ifDomainCreated = "CreatesDomain"
	ifDomainRecords = "CreatesDomainRecords"

	domainID        = "Domain"
	domainMappingID = domainID + "Mapping"
)

// domainResources returns the custom domain of the API, its mapping to the stage, and its DNS
// records. Without a certificate, the stack uses an existing domain and contains only the mapping.
// Such a domain remains when the stack is deleted.
func domainResources() Object {
	return Object{
		{domainID, onlyIf(ifDomainCreated, resource("AWS::ApiGateway::DomainName", append(Object{
			{"DomainName", Ref(ParamDomain)}, {"RegionalCertificateArn", Ref(ParamCertificate)},
			{"EndpointConfiguration", Object{{"Types", List{"REGIONAL"}}, {"IpAddressType", addressType}}},
		}, securityProperties()...)))},
		{domainMappingID, onlyIf(ifDomain, resource("AWS::ApiGateway::BasePathMapping", Object{
			{"DomainName", IfCondition(ifDomainCreated, Ref(domainID), Ref(ParamDomain))},
			{"RestApiId", Ref(APIID)}, {"Stage", Ref(StageID)},
		}))},
		{domainID + "RecordA", domainRecord("A")},
		{domainID + "RecordAaaa", domainRecord("AAAA")},
	}
}

// domainRecord returns an alias record of the domain, for IPv4 (A) or IPv6 (AAAA).
func domainRecord(kind string) Object {
	return onlyIf(ifDomainRecords, resource("AWS::Route53::RecordSet", Object{
		{"HostedZoneId", Ref(ParamHostedZone)}, {"Name", Ref(ParamDomain)}, {"Type", kind},
		{"AliasTarget", Object{
			{"DNSName", Attribute(domainID, "RegionalDomainName")}, {"HostedZoneId", Attribute(domainID, "RegionalHostedZoneId")},
		}},
	}))
}

// baseURL is the URL of the service: on the custom domain if there is one, otherwise the gateway's
// own URL.
func baseURL() Object {
	return IfCondition(ifDomain, Sub("https://${"+ParamDomain+"}"), Sub(BaseURL))
}

func domainParameters() []Parameter {
	return []Parameter{
		{Name: ParamDomain, Type: "String", Default: "", Pattern: `^(([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63})?$`,
			Description: "The API's own domain, such as api.example.com; empty: the base URL is the gateway's"},
		{Name: ParamCertificate, Type: "String", Default: "", Pattern: `^(arn:[a-z0-9-]+:acm:[a-z0-9-]+:[0-9]{12}:certificate/.+)?$`,
			Description: "The ARN of the domain's certificate in ACM, in this region; empty: the domain exists in API Gateway already, and the stack only maps it"},
		{Name: ParamHostedZone, Type: "String", Default: "", Pattern: "^(Z[A-Z0-9]{1,31})?$",
			Description: "The hosted zone in Route 53 for the records of a domain with a CertificateArn; empty: you create the record yourself"},
	}
}

func domainConditions() Object {
	isSet := func(parameter string) Object { return notCondition(equalsCondition(parameter, "")) }
	return Object{
		{ifDomain, isSet(ParamDomain)},
		{ifDomainCreated, andCondition(isSet(ParamDomain), isSet(ParamCertificate))},
		{ifDomainRecords, andCondition(Object{{"Condition", ifDomainCreated}}, isSet(ParamHostedZone))},
	}
}

func andCondition(expressions ...any) Object { return Object{{"Fn::And", List(expressions)}} }
