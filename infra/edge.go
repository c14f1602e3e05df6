package infra

import "slices"

const (
	ParamSecurityPolicy = "SecurityPolicy"
	ParamAccessMode     = "EndpointAccessMode"

	ifAccessMode = "HasEndpointAccessMode"

	// legacySecurityPolicy is API Gateway's own default for a regional API. It accepts TLS 1.0 and
	// does not support an endpoint access mode.
	legacySecurityPolicy  = "TLS_1_0"
	defaultSecurityPolicy = "SecurityPolicy_TLS13_1_2_2021_06"
	// addressType lets clients connect with IPv4 and IPv6.
	addressType = "dualstack"
)

// securityPolicies lists the security policies for a regional API. Each name gives the version of
// the policy, the minimum TLS version, and properties of the ciphers.
var securityPolicies = []string{
	defaultSecurityPolicy, "SecurityPolicy_TLS13_1_2_PQ_2025_09", "SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09",
	"SecurityPolicy_TLS13_1_2_FIPS_PQ_2025_09", "SecurityPolicy_TLS13_1_2_FIPS_PFS_PQ_2025_09",
	"SecurityPolicy_TLS13_1_3_2025_09", "SecurityPolicy_TLS13_1_3_FIPS_2025_09", legacySecurityPolicy,
}

// securityProperties returns the TLS properties of the API and of a custom domain. Every policy
// except the legacy one requires an endpoint access mode.
func securityProperties() Object {
	return Object{
		{"SecurityPolicy", Ref(ParamSecurityPolicy)},
		{"EndpointAccessMode", IfCondition(ifAccessMode, Ref(ParamAccessMode), Ref("AWS::NoValue"))},
	}
}

// edgeParameters returns the parameters for TLS, the custom domain and the firewall.
func edgeParameters() []Parameter {
	return slices.Concat([]Parameter{
		{Name: ParamSecurityPolicy, Type: "String", Default: defaultSecurityPolicy, Allowed: securityPolicies,
			Description: "The TLS versions and ciphers that the API accepts; the default is TLS 1.2 and 1.3. AWS lists them: apigateway-security-policies-list"},
		{Name: ParamAccessMode, Type: "String", Default: "BASIC", Allowed: []string{"BASIC", "STRICT"},
			Description: "STRICT also rejects requests whose Host differs from the TLS server name; begin with BASIC. Not used with the policy TLS_1_0"},
	}, domainParameters(), firewallParameters())
}

func edgeConditions() Object {
	return slices.Concat(Object{
		{ifAccessMode, notCondition(equalsCondition(ParamSecurityPolicy, legacySecurityPolicy))},
	}, domainConditions(), firewallConditions())
}
