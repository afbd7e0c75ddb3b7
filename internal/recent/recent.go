// Package recent is a map that forgets. What strangers or time put into a
// process must not fill it, and what was asked for lately is worth having.
package recent

import "sync"

// Map forgets what has not been asked for lately. It has two generations: when
// the young one is full it becomes the old one, and the old one goes. What is
// found in the old one moves to the young. It may be used by many goroutines.
type Map[K comparable, V any] struct {
	mu         sync.Mutex
	young, old map[K]V
	max        int
}

// New makes a map of generations of so many entries, one at least: it has twice
// as many at most.
func New[K comparable, V any](max int) *Map[K, V] {
	return &Map[K, V]{young: make(map[K]V), max: max}
}

// Take finds a key's value, or makes it.
func (m *Map[K, V]) Take(key K, fresh func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.find(key)
	if !ok {
		v = fresh()
		m.put(key, v)
	}
	return v
}

// Load finds a key's value, if it is not forgotten.
func (m *Map[K, V]) Load(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(key)
}

// Store keeps a key's value for a while.
func (m *Map[K, V]) Store(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, v)
}

func (m *Map[K, V]) find(key K) (V, bool) {
	v, ok := m.young[key]
	if ok {
		return v, true
	}
	if v, ok = m.old[key]; ok {
		m.put(key, v)
	}
	return v, ok
}

func (m *Map[K, V]) put(key K, v V) {
	if len(m.young) >= m.max {
		m.old, m.young = m.young, make(map[K]V)
	}
	m.young[key] = v
}
