package readback

// SetChecking makes a pool lend copies and poison them, whatever the build.
func (p *Pool[D, E]) SetChecking(on bool) { p.checking = on }

// Poison is what released bytes are overwritten with.
const Poison = poison
