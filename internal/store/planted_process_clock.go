//go:build planted_process_clock

package store

const planted = processClock
