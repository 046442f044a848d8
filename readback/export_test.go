package readback

// SetChecking makes a pool lend copies and poison them, whatever the build.
func (p *Pool[D, E]) SetChecking(on bool) { p.checking = on }

// Poison is what released bytes are overwritten with.
const Poison = poison

// Checking tells whether this is a checking build.
const Checking = checking

// Unmap takes the staging buffers' memory away, as a driver may that is in trouble.
func (p *Pool[D, E]) Unmap() {
	for i := range p.slots {
		if b := p.slots[i].memory.staging; b != nil {
			b.Close()
		}
	}
}
