package seatplan_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/seatplan"
)

// stadium is a large plan in a format, made while it is read: what
// the importer holds is then all there is.
type stadium struct {
	format  seatplan.Format
	ballast string // of each seat: something that the importer does not keep
	seats   int
	seat    int
	text    strings.Reader
	watch   func()
}

const (
	stadiumSeats = 40_000
	seatsInRow   = 40
	rowsInBlock  = 25
)

func (s *stadium) Read(p []byte) (int, error) {
	for s.text.Len() == 0 {
		if s.seat > s.seats {
			return 0, io.EOF
		}
		if s.watch != nil && s.seat%4000 == 0 {
			s.watch()
		}
		s.text.Reset(s.next())
		s.seat++
	}
	return s.text.Read(p)
}

func (s *stadium) next() string {
	i := s.seat
	number, row, block := i%seatsInRow, i/seatsInRow%rowsInBlock, i/seatsInRow/rowsInBlock
	newRow, newBlock, end := i > 0 && number == 0, i > 0 && number == 0 && row == 0, i == s.seats
	pick := func(yes bool, text string) string {
		if yes {
			return text
		}
		return ""
	}
	x, y := number*20, row*24
	switch s.format {
	case seatplan.CSV:
		if end {
			return ""
		}
		return pick(i == 0, "section,row,seat,category,x,y,kind,note\n") +
			fmt.Sprintf("Block %d,R%d,%d,Tier %d,%d,%d,,%s\n", block, row, number, block%4, x, y, s.ballast)
	case seatplan.Pretix:
		return pick(i == 0, `{"name":"Stadium","categories":[{"name":"Tier 0"},{"name":"Tier 1"},{"name":"Tier 2"},{"name":"Tier 3"}],"zones":[`) +
			pick(newRow, `]}`) + pick(newBlock, `]}`) + pick(end, `]}`) +
			pick(!end, pick(newBlock, ",")+pick(number == 0 && row == 0, fmt.Sprintf(`{"name":"Block %d","position":{"x":%d,"y":0},"rows":[`, block, block*1000))+
				pick(number == 0 && row > 0, ",")+pick(number == 0, fmt.Sprintf(`{"row_number":"R%d","position":{"x":0,"y":%d},"seats":[`, row, y))+
				pick(number > 0, ",")+fmt.Sprintf(`{"seat_number":"%d","seat_guid":"%d","position":{"x":%d,"y":0},"category":"Tier %d","note":"%s"}`, number, i, x, block%4, s.ballast))
	case seatplan.Seatsio:
		return pick(i == 0, `{"name":"Stadium","categories":{"list":[{"key":0,"label":"Tier 0"},{"key":1,"label":"Tier 1"},{"key":2,"label":"Tier 2"},{"key":3,"label":"Tier 3"}]},"subChart":{"sections":[`) +
			pick(newRow, `]}`) + pick(newBlock, `]}}`) + pick(end, `]}}`) +
			pick(!end, pick(newBlock, ",")+pick(number == 0 && row == 0, fmt.Sprintf(`{"label":"Block %d","categoryKey":%d,"topLeft":{"x":%d,"y":0},"subChart":{"rows":[`, block, block%4, block*1000))+
				pick(number == 0 && row > 0, ",")+pick(number == 0, fmt.Sprintf(`{"label":"R%d","seats":[`, row))+
				pick(number > 0, ",")+fmt.Sprintf(`{"label":"%d","x":%d,"y":%d,"accessible":false,"restrictedView":false,"uuid":"u%d","note":"%s"}`, number, x, y, i, s.ballast))
	default:
		return pick(i == 0, `{"name":"Stadium","categories":[{"name":"Tier 0"},{"name":"Tier 1"},{"name":"Tier 2"},{"name":"Tier 3"}],"sections":[`) +
			pick(newRow, `]}`) + pick(newBlock, `]}`) + pick(end, `]}`) +
			pick(!end, pick(newBlock, ",")+pick(number == 0 && row == 0, fmt.Sprintf(`{"name":"Block %d","category":"Tier %d","rows":[`, block, block%4))+
				pick(number == 0 && row > 0, ",")+pick(number == 0, fmt.Sprintf(`{"name":"R%d","seats":[`, row))+
				pick(number > 0, ",")+fmt.Sprintf(`{"seat":"%d","x":%d,"y":%d}`, number, x, y)+strings.Repeat(" ", len(s.ballast)))
	}
}

var formats = []seatplan.Format{seatplan.CSV, seatplan.Rowlock, seatplan.Pretix, seatplan.Seatsio}

// TestMemoryIsThatOfThePlanHoweverLargeTheDocument reads 40,000 seats out of
// documents of 40 MB and looks at the live heap on the way. It is not parallel:
// the heap is everybody's.
func TestMemoryIsThatOfThePlanHoweverLargeTheDocument(t *testing.T) {
	const (
		perSeat  = 250     // bytes: 160 for the seat itself, the rest for its texts and its place in the look-ups
		constant = 4 << 20 // buffers, and what the test runner does meanwhile
	)
	for _, format := range formats {
		var highest, before uint64
		live := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		doc := &stadium{format: format, seats: stadiumSeats, ballast: strings.Repeat("b", 1000), watch: func() { highest = max(highest, live()) }}
		before = live()
		plan, _, err := seatplan.Read(t.Context(), format, doc, seatplan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if highest = max(highest, live()); len(plan.Seats) != stadiumSeats {
			t.Fatalf("%s: %d seats", format, len(plan.Seats))
		}
		if grown := int64(highest) - int64(before); grown > perSeat*stadiumSeats+constant {
			t.Errorf("%s: the heap grew by %d bytes, %d a seat", format, grown, grown/stadiumSeats)
		}
		runtime.KeepAlive(plan)
	}
}

// TestAllocationsPerSeat keeps the walk from becoming a tree unnoticed.
func TestAllocationsPerSeat(t *testing.T) {
	const seats = 4 * seatsInRow * rowsInBlock
	for format, most := range map[seatplan.Format]float64{seatplan.CSV: 8, seatplan.Rowlock: 55, seatplan.Pretix: 120, seatplan.Seatsio: 120} {
		text, err := io.ReadAll(&stadium{format: format, seats: seats})
		if err != nil {
			t.Fatal(err)
		}
		document := string(text)
		n := testing.AllocsPerRun(1, func() {
			if _, _, err := seatplan.Read(t.Context(), format, strings.NewReader(document), seatplan.Options{}); err != nil {
				t.Fatal(err)
			}
		})
		if n /= seats; n > most {
			t.Errorf("%s: %.1f allocations a seat, more than %.0f", format, n, most)
		}
	}
}

func BenchmarkImportOf40000Seats(b *testing.B) {
	for _, format := range formats {
		b.Run(string(format), func(b *testing.B) {
			text, err := io.ReadAll(&stadium{format: format, seats: stadiumSeats})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := seatplan.Read(b.Context(), format, strings.NewReader(string(text)), seatplan.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
