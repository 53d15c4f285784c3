package profile

func (c *compiler) formRoot() (*result, error) { return c.wholeRoot() }
