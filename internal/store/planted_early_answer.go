//go:build planted_early_answer

package store

const planted = earlyAnswer
