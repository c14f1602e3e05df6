package infra

// Internals of this package that its external tests need.
var (
	Alarms             = alarms
	DeploymentID       = deploymentID
	APIResources       = Model.apiResources
	ActionsOf          = actionsOf
	KeyActions         = keyActions
	IdempotencyActions = idempotencyActions
	KeyChangeActions   = keyChangeActions
	TrailActions       = trailActions
	TransactionActions = transactionActions
)
