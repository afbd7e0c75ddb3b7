package boxoffice

import (
	"testing"

	"github.com/google/uuid"
)

func TestAPlanIndexFindsEverySeatByNumberIDAndLabel(t *testing.T) {
	t.Parallel()
	for i := range bigPlan.Seats {
		want := &bigPlan.Seats[i]
		if at, ok := bigPlan.Position(want.No); !ok || at != i {
			t.Errorf("%s is at %d, %v; want %d", want.Label, at, ok, i)
		}
		if bigPlan.Seat(want.No) != want || bigPlan.SeatByID(want.ID) != want || bigPlan.SeatByLabel(want.Label) != want {
			t.Errorf("%s is not found", want.Label)
		}
	}
}

func TestAPlanIndexFindsNothingElse(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]*PlanIndex{"small": smallPlan.PlanIndex, "none": nil} {
		for _, no := range []int32{-1, noOf(seatNames, "A8"), 1 << 30} {
			if x.Seat(no) != nil {
				t.Errorf("%s has a seat %d", name, no)
			}
		}
		if x.SeatByID(uuid.Nil) != nil || x.SeatByLabel("A8") != nil {
			t.Errorf("%s has a seat that it has not", name)
		}
	}
}
