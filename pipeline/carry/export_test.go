package carry

// Takers returns how many take what bridges bring of a topic.
func (b *Bridges) Takers(topic string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.all() {
		if r := c.received[topic]; r != nil {
			n += len(r.takers)
		}
	}
	return n
}
