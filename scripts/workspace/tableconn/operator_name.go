package tableconn

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"growthworkspace/scripts/workspace/terminal"
)

// localOperator returns the name of the user of this machine, for the operator's trail.
func localOperator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "user:" + u.Username
	}
	return fmt.Sprintf("user:%d", os.Getuid())
}

// identityTimeout is how long a command waits for AWS to return the name of its principal.
const identityTimeout = 5 * time.Second

// operatorName finds the name of the principal that a command's AWS credentials belong to.
type operatorName struct {
	config   aws.Config
	terminal *terminal.Terminal

	mu   sync.Mutex
	name string // empty until it is known
}

func newOperatorName(c aws.Config, t *terminal.Terminal) *operatorName {
	return &operatorName{config: c, terminal: t}
}

// get returns the ARN of the principal. It asks AWS only once. If AWS does not return the ARN, get
// returns the id of the access key. The id is not a secret, and CloudTrail shows it together with
// the principal. So a leaked key can be revoked while STS is unreachable, and the trail still shows
// who revoked it.
func (o *operatorName) get(ctx context.Context) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.name != "" {
		return o.name
	}
	ctx, stop := context.WithTimeout(ctx, identityTimeout)
	defer stop()
	identity, err := sts.NewFromConfig(o.config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err == nil && aws.ToString(identity.Arn) != "" {
		o.name = *identity.Arn
		return o.name
	}
	o.name = localOperator()
	if keys, credErr := o.config.Credentials.Retrieve(ctx); credErr == nil {
		o.name = "access-key:" + keys.AccessKeyID
	}
	o.terminal.Note("AWS STS does not say who you are (%v): the trail names %s", err, o.name)
	return o.name
}
