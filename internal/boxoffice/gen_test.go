package boxoffice

import ("testing";"fmt";"strings")

func TestGen(t *testing.T) {
	base := "policy 50 60\nanna place r1 A1 A2 => ok r1: A1 A2 until 15m for 200\n"
	for _, st := range genStates {
		for _, ev := range genEvents {
			func() {
				c := &capture{T: t}
				d := play(c, base+st[1])
				now := noon.Add(duration(st[2]))
				w := words(ev)
				o, _ := d.decide(now, command(w[0], w[1:]))
				k := d.booking(id("k1"))
				txt := "none"
				if k != nil { txt = bookingText(k) }
				fmt.Printf("%-14s %-32s => %s | %s\n", st[0], ev, outcomeText(o[0]), txt)
			}()
		}
		fmt.Println()
	}
}
type capture struct{ *testing.T }
var genStates = [][3]string{
 {"open", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1", "5m"},
 {"declined", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\ngate settle p1 failed => ok r1 k1 pending p1 failed", "5m"},
 {"overdueOpen", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1", "20m"},
 {"expiredOpen", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\nat 20m\nsystem expire 9 => ok 1", "20m"},
 {"overdue", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\ngate settle p1 failed => ok r1 k1 pending p1 failed", "20m"},
 {"expired", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\ngate settle p1 failed => ok r1 k1 pending p1 failed\nat 20m\nsystem expire 9 => ok 1", "20m"},
 {"lost", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\nat 20m\nbert place r2 A1 => ok r2: A1 until 35m for 100", "20m"},
 {"failed", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\nat 20m\nbert place r2 A1 => ok r2: A1 until 35m for 100\ngate settle p1 ok => ok r1 k1 failed p1 succeeded late refunded", "20m"},
 {"confirmed", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\ngate settle p1 ok => ok r1 k1 confirmed p1 succeeded", "5m"},
 {"partly", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\ngate settle p1 ok => ok r1 k1 confirmed p1 succeeded\nanna cancel k1 1 => ok r1 k1 confirmed", "5m"},
 {"used", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\ngate settle p1 ok => ok r1 k1 confirmed p1 succeeded\ndoor scan k1.1 s1 => ok k1.1 k1 admitted", "5m"},
 {"cancelled", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\ngate settle p1 ok => ok r1 k1 confirmed p1 succeeded\nanna cancel k1 => ok r1 k1 cancelled", "5m"},
 {"abandoned", "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\nanna cancel k1 => ok r1 k1 cancelled", "5m"},
}
var genEvents = strings.Split(`gate settle p1 ok
gate settle p1 failed
gate settle p1 cancelled
gate settle p1 pending
anna begin r1 p1b
bert begin r1 p1b
staff confirm r1 p1b cash ref=7
staff confirm r1 p1b comp
anna cancel k1
bert cancel k1
anna cancel k1 1
staff cancel k1 override
anna change r1 +A3
anna extend r1
anna release r1
system expire 9
staff giveback k1 amount=50
gate desk p1 ok amount=200 ref=d1
gate desk p1 ok amount=50 ref=d1`, "\n")
