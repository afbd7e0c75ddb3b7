package live

// Follow applies what was logged, if it can be.
func (m *Map) Follow(d *Delta) bool {
	if !m.follows(d) {
		return false
	}
	m.apply(d)
	return true
}

// Limit bounds what is kept.
func (ms *Maps) Limit(shows, places int) { ms.showsMax, ms.placesMax = shows, places }

// FollowAtMost bounds how much of the log is read at once.
func (ms *Maps) FollowAtMost(changes int) { ms.changesMax = changes }

// Kept says how much is kept.
func (ms *Maps) Kept() (shows, places int) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.recent.Len() != len(ms.shows) {
		panic("the list and the map of shows differ")
	}
	return len(ms.shows), ms.places
}
