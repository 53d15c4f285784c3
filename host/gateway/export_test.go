package gateway

// Limits are what bounds the clients of a gateway.
type Limits = limits

// WithLimits returns options with other limits.
func WithLimits(o *Options, set func(*Limits)) *Options {
	l := defaultLimits()
	set(&l)
	o.limits = &l
	return o
}
