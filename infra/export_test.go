package infra

// What the tests of this package's behaviour need of its inside.
var (
	Alarms             = alarms
	DeploymentID       = deploymentID
	APIResources       = Model.apiResources
	ActionsOf          = actionsOf
	KeyGrants          = keyGrants
	IdempotencyActions = idempotencyActions
	TransactionActions = transactionActions
)
