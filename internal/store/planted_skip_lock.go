//go:build planted_skip_lock

package store

const planted = skipLock
