package sim

import "slices"

// shrink leaves out as many operations as it can while the rest still fails:
// halves first, then smaller and smaller pieces, until no single one can go.
func shrink(ops []operation, fails func([]operation) bool) []operation {
	for size := len(ops) / 2; size > 0; {
		shorter := false
		for at := 0; at < len(ops); {
			rest := slices.Concat(ops[:at], ops[min(at+size, len(ops)):])
			if fails(rest) {
				ops, shorter = rest, true
			} else {
				at += size
			}
		}
		if size > 1 {
			size /= 2
		} else if !shorter {
			break
		}
	}
	return ops
}
