package infra

// Internals of this package that its external tests need.
var (
	Alarms         = alarms
	DeploymentID   = deploymentID
	APIResources   = Model.apiResources
	NeedsOf        = needsOf
	Authentication = authentication
	Memory         = memory
	Transacted     = transacted
)
