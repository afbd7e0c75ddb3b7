package live

// Limit bounds what is kept.
func (ms *Maps) Limit(shows, places int) { ms.showsMax, ms.placesMax = shows, places }

// WatchAtMost bounds how many places the shows have that are watched.
func (ms *Maps) WatchAtMost(places int) { ms.watchedMax = places }

// FollowAtMost bounds how much of the log is read at once.
func (ms *Maps) FollowAtMost(changes int) { ms.asker.most = changes }

// Kept says how much is kept.
func (ms *Maps) Kept() (shows, places int) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.recent.Len()+len(ms.feeds) != len(ms.shows) {
		panic("the list and the map of shows differ")
	}
	return len(ms.shows), ms.places + ms.watched
}

// KeepFrames bounds how many frames are kept for viewers who are behind.
func (ms *Maps) KeepFrames(frames int) { ms.framesMax = frames }

// Behind is a limit on what is told to whoever comes back.
const Behind = framesMax

// Waiting is how many questions wait for their turn.
func (ms *Maps) Waiting() int {
	ms.asker.mu.Lock()
	defer ms.asker.mu.Unlock()
	return len(ms.asker.waiting)
}
