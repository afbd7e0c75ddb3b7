package ops_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/sql/ops"
)

func TestZMut(t *testing.T) {
	n := newNight(t)
	n.unguard()
	or := regexp.MustCompile(`(?m)\s+or [^\n]*?(?:\)*;)?$`)
	_ = or
	for _, rule := range ops.Rules() {
		var mutants []string
		words := regexp.MustCompile(` or | and |\nunion all\n|\n        union all\n`).FindAllStringIndex(rule.SQL, -1)
		_ = words
		lines := strings.Split(rule.SQL, "\n")
		for i, l := range lines {
			tl := strings.TrimSpace(l)
			if strings.HasPrefix(tl, "or ") || (strings.HasPrefix(tl, "and ") && !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "left join")) {
				m := append([]string{}, lines...)
				end := ""
				if strings.HasSuffix(tl, ";") {
					end = ";"
				}
				open := strings.Count(tl, "(") - strings.Count(tl, ")")
				for open < 0 {
					end = ")" + end
					open++
				}
				m[i] = end
				mutants = append(mutants, strings.Join(m, "\n"))
			}
			for _, op := range []string{" or ", " and "} {
				parts := strings.Split(l, op)
				for j := 1; j < len(parts); j++ {
					if strings.HasPrefix(strings.TrimSpace(l), "--") {
						continue
					}
					part := parts[j]
					open := strings.Count(part, "(") - strings.Count(part, ")")
					end := ""
					if strings.HasSuffix(strings.TrimSpace(part), ";") {
						end = ";"
					}
					for open < 0 {
						end = ")" + end
						open++
					}
					if open > 0 {
						continue
					}
					m := append([]string{}, lines...)
					rest := parts[j+1:]
					m[i] = strings.Join(parts[:j], op) + end
					if len(rest) > 0 {
						m[i] += op + strings.Join(rest, op)
					}
					mutants = append(mutants, strings.Join(m, "\n"))
				}
			}
		}
		for _, mut := range mutants {
			if _, err := n.all.Exec(t.Context(), mut); err != nil {
				fmt.Println("INVALID", rule.Name, err)
				continue
			}
			killed := false
			tx, _ := n.all.Begin(t.Context())
			rows, err := tx.Query(t.Context(), mut)
			k := 0
			if err == nil {
				for rows.Next() {
					k++
				}
				rows.Close()
			}
			tx.Rollback(t.Context())
			if k > 0 || err != nil {
				continue // seen by honest sales
			}
			for _, harm := range breaks[rule.Name] {
				if n.harmed(harm, mut, n.show.ID, n.ann.ID) == 0 {
					killed = true
				}
			}
			for _, harm := range breaksOfMoney[rule.Name] {
				if n.harmed(harm, mut, n.gala.ID, n.gala.booking["kim"].BookingID) == 0 {
					killed = true
				}
			}
			if !killed {
				a, b := strings.Split(rule.SQL, "\n"), strings.Split(mut, "\n")
				for i := range a {
					if a[i] != b[i] {
						fmt.Printf("SURVIVES %s\n   - %s\n   + %s\n", rule.Name, a[i], b[i])
					}
				}
			}
		}
	}
}
