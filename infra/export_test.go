package infra

// What the tests of this package's behaviour need of its inside.
var (
	Alarms         = alarms
	DeploymentID   = deploymentID
	APIResources   = Model.apiResources
	NeedsOf        = needsOf
	Authentication = authentication
	Memory         = memory
	Transacted     = transacted
)
