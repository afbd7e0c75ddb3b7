-- The next one is far off then, and falls into nobody's round.
checkpoint;
