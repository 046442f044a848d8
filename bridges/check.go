package bridges

// Checker is an Instance that tells of a connection string whether Connect can use it,
// without connecting. Both read it with one parser: Check returns nil or the error that
// Connect would, which wraps ErrConnectionString, or ErrTLS for a certificate that can't be
// used. It may read files and the environment, changes nothing, and reaches no peer. Any
// goroutine may call it, connected or not.
type Checker interface {
	Check(connection string) error
}

// Check returns the error of a connection string that Connect couldn't use, the same that
// Connect gives, without connecting. An instance that isn't a Checker finds no fault.
func (b *Bridge) Check() error {
	c, ok := b.instance.(Checker)
	if !ok {
		return nil
	}
	if err := c.Check(b.connection); err != nil {
		return b.failed("connect", err)
	}
	return nil
}

// Check returns the error that opening "NAME:CONNECTION" gives, or that connecting would
// because of the connection string. It makes an instance and connects nothing: env holds what
// the string depends on, such as OutDir.
func (r *Registry) Check(spec string, env Env) error {
	b, err := r.Open(spec, env)
	if err != nil {
		return err
	}
	return b.Check()
}
