select clock_timestamp();
