package client

// Jittered is the default backoff.
var Jittered = jittered

// CompanyOf returns the company in a key.
var CompanyOf = companyOf

// WithRandom sets the source of the times that are added to Retry-After.
func WithRandom(random func() float64) Option { return func(c *Client) { c.random = random } }

// Refill returns the time in which a response's quota refills by one request.
var Refill = refillInterval
