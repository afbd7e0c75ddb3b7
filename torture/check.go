package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkMax is how long porcupine may look for the order of one partition.
const checkMax = 2 * time.Minute

// verdict is what porcupine says of some partitions.
type verdict struct {
	legal     int
	illegal   []*partition
	undecided []*partition
}

// judge has every partition checked, a few at a time.
func judge(parts []*partition, atOnce int) verdict {
	var v verdict
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, p := range parts {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			result := porcupine.CheckOperationsTimeout(p.model, p.history, checkMax)
			mu.Lock()
			defer mu.Unlock()
			switch result {
			case porcupine.Ok:
				v.legal++
			case porcupine.Illegal:
				v.illegal = append(v.illegal, p)
			default:
				v.undecided = append(v.undecided, p)
			}
		})
	}
	all.Wait()
	slices.SortFunc(v.illegal, func(x, y *partition) int { return cmp.Compare(x.name, y.name) })
	return v
}

// illegal says that a history has no order. One that cannot be decided quickly
// is taken for one that has.
func (p *partition) illegal(history []porcupine.Operation) bool {
	return porcupine.CheckOperationsTimeout(p.model, history, time.Second) == porcupine.Illegal
}

// shrink finds few operations of a history without an order that have none
// either. It takes away only what cannot have made the others right: answers
// that changed nothing, and whole lives of holds, from their beginning to their
// end, that no answer which is left could have seen.
func (p *partition) shrink() []porcupine.Operation {
	history := p.history
	// Ever smaller pieces of what sees.
	for size := len(history); size > 0; size /= 2 {
		for at := 0; at < len(history); {
			n := 0
			less := make([]porcupine.Operation, 0, len(history))
			for i, o := range history {
				if i >= at && n < size && o.Input.(step).sees() {
					n++
					continue
				}
				less = append(less, o)
			}
			if n > 0 && p.illegal(less) {
				history = less
			} else {
				at += size
			}
		}
	}
	lives := map[string][]porcupine.Operation{}
	for _, o := range history {
		if s := o.Input.(step); !s.sees() {
			lives[s.life()] = append(lives[s.life()], o)
		}
	}
	for _, life := range sortedKeys(lives) {
		from, to := never, int64(0)
		for _, o := range lives[life] {
			from, to = min(from, o.Call), max(to, o.Return)
		}
		seen := slices.ContainsFunc(history, func(o porcupine.Operation) bool {
			return o.Input.(step).sees() && o.Call <= to && o.Return >= from
		})
		less := slices.DeleteFunc(slices.Clone(history), func(o porcupine.Operation) bool {
			s := o.Input.(step)
			return !s.sees() && s.life() == life
		})
		if !seen && p.illegal(less) {
			history = less
		}
	}
	return history
}

// life names what a step belongs to: a hold, a block, or itself alone.
func (s step) life() string {
	if s.owner == "" && s.block == "" && s.op != nil {
		return fmt.Sprintf("%020d", s.op.Call)
	}
	return cmp.Or(s.owner, s.block)
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// textOf writes operations as lines, those of time last in their life only if
// nobody did anything.
func textOf(history []porcupine.Operation) string {
	var b strings.Builder
	for _, o := range history {
		s := o.Input.(step)
		ret := "never answered"
		if o.Return < never/2 {
			ret = fmt.Sprintf("%11.6f", float64(o.Return)/1e6)
		}
		who := "time"
		if s.op != nil {
			who = fmt.Sprintf("client %d", s.op.Client)
		}
		fmt.Fprintf(&b, "  %11.6f … %s s  %-10s %s", float64(o.Call)/1e6, ret, who, s)
		if s.op != nil && s.op.Status != 0 {
			fmt.Fprintf(&b, "  (%s: %d %s)", s.op.Do, s.op.Status, s.op.Code)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// explain tells why a partition is wrong, and draws it into a file in dir.
func (p *partition) explain(dir string) string {
	few := p.shrink()
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", r) {
			return r
		}
		return '-'
	}, p.name)
	path := filepath.Join(dir, name+".html")
	text := fmt.Sprintf("no order of the %d operations on %s explains the answers; these suffice to see it:\n%s", len(p.history), p.name, textOf(few))
	_, info := porcupine.CheckOperationsVerbose(p.model, p.history, checkMax)
	if err := porcupine.VisualizePath(p.model, info, path); err != nil {
		return text + fmt.Sprintf("  (it could not be drawn: %v)\n", err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(text), 0o600); err != nil {
		return text
	}
	return text + "  drawn in " + path + "\n"
}
