//go:build !planted_skip_lock && !planted_early_answer && !planted_process_clock

package store

const planted = noBug
