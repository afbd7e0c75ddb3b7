package main

import "testing"

func TestAFlagWinsOverItsVariableAndThatOverWhatTheVerbPrefers(t *testing.T) {
	t.Setenv("ENV", "")
	t.Setenv("LANES", "8")
	t.Setenv("WAITERS", "5")
	t.Setenv("PG", "17") // none of the verb's: it may be anything
	cmd := demoVerb()
	takes(cmd, "ENV", "LANES", "WAITERS", "POOL_JOBS", "LANE_BATCH_MAX")
	if err := cmd.ParseFlags([]string{"--lanes=2"}); err != nil {
		t.Fatal(err)
	}
	cfg, err := settings(cmd, map[string]string{"ENV": "development", "LANES": "9", "WAITERS": "9", "POOL_JOBS": "9"})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Env != "development" || cfg.Lanes != 2 || cfg.Waiters != 5 || cfg.PoolJobs != 9 || cfg.LaneBatchMax != 256 {
		t.Errorf("got %v", cfg)
	}
}
