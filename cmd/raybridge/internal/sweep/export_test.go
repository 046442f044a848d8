package sweep

// Poison gives a plan another configuration, which is what its hash says.
func Poison(p *Plan, name, text string) {
	g := newGatherer()
	in := g.text(name, []byte(text))
	p.Inputs, p.sources, p.Config = g.inputs, g.sources, in.path()
}

// Renewal is how often a lock is renewed.
const Renewal = renewal
