package boxoffice

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

// A purchase in each of its states, before each event. By then it is five
// minutes past noon, or twenty where the hold is over. After "|" is what the
// booking is then, if it changes.
func TestBookingStates(t *testing.T) {
	t.Parallel()
	const (
		placed   = "policy 50 60\nanna place r1 A1 A2 => ok r1: A1 A2 until 15m for 200\n"
		begun    = placed + "anna begin r1 p1 => ok r1: A1 A2 until 15m for 200 k1 pending p1\n"
		declined = begun + "gate settle p1 failed => ok r1 k1 pending p1 failed\n"
		paid     = begun + "gate settle p1 ok => ok r1 k1 confirmed p1 succeeded\n"
		lost     = begun + "at 20m\nbert place r2 A1 => ok r2: A1 until 35m for 100\n"
	)
	states := map[string]string{
		"open":        begun + "at 5m",
		"declined":    declined + "at 5m",
		"overdueOpen": begun + "at 20m",
		"expiredOpen": begun + "at 20m\nsystem expire 9 => ok 1",
		"overdue":     declined + "at 20m",
		"expired":     declined + "at 20m\nsystem expire 9 => ok 1",
		"lost":        lost, // its attempt is still open
		"failed":      lost + "gate settle p1 ok => ok r1 k1 failed p1 succeeded late refunded",
		"confirmed":   paid + "at 5m",
		"partly":      paid + "anna cancel k1 1 => ok r1 k1 confirmed\nat 5m",
		"used":        paid + "door scan k1.1 s1 => ok k1.1 k1 admitted\nat 5m",
		"cancelled":   paid + "anna cancel k1 => ok r1 k1 cancelled\nat 5m",
		"abandoned":   begun + "anna cancel k1 => ok r1 k1 cancelled p1\nat 5m",
	}
	for line := range strings.Lines(`
		open        gate settle p1 ok                => ok r1 k1 confirmed p1 succeeded | confirmed 200 p1=succeeded:200 1=A1:valid:100 2=A2:valid:100
		open        gate settle p1 failed            => ok r1 k1 pending p1 failed | pending 200 p1=failed:200
		open        gate settle p1 cancelled         => ok r1 k1 pending p1 cancelled | pending 200 p1=cancelled:200
		open        gate settle p1 pending           => ok r1 k1 pending p1 pending
		open        anna begin r1 p1b                => PAYMENT_IN_PROGRESS k1
		open        bert begin r1 p1b                => NOT_FOUND
		open        staff confirm r1 p1b cash ref=7  => PAYMENT_IN_PROGRESS k1
		open        staff confirm r1 p1b comp        => PAYMENT_IN_PROGRESS k1
		open        anna cancel k1                   => ok r1 k1 cancelled p1 | cancelled 200 p1=pending:200
		open        bert cancel k1                   => NOT_FOUND
		open        anna cancel k1 1                 => VALIDATION_ERROR ticketIds
		open        staff cancel k1 override         => ok r1 k1 cancelled p1 | cancelled 200 p1=pending:200
		open        anna change r1 +A3               => PAYMENT_IN_PROGRESS k1
		open        anna extend r1                   => ok r1: A1 A2 until 20m for 200
		open        anna release r1                  => ok r1 | cancelled 200 p1=pending:200
		open        system expire 9                  => ok
		open        staff giveback k1 amount=50      => ALREADY_REFUNDED
		open        gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | pending 200-200 p1=succeeded:200-200 p1/gateway:d1=succeeded:200
		open        gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 | confirmed 200-50 p1=succeeded:200-50 1=A1:valid:100-25 2=A2:valid:100-25 p1/gateway:d1=succeeded:50

		declined    gate settle p1 ok                => ok r1 k1 confirmed p1 succeeded | confirmed 200 p1=succeeded:200 1=A1:valid:100 2=A2:valid:100
		declined    gate settle p1 failed            => ok r1 k1 pending p1 failed
		declined    gate settle p1 cancelled         => ok r1 k1 pending p1 failed
		declined    gate settle p1 pending           => ok r1 k1 pending p1 failed
		declined    anna begin r1 p1b                => ok r1: A1 A2 until 15m for 200 k1 pending p1b | pending 200 p1=failed:200 p1b=pending:200
		declined    bert begin r1 p1b                => NOT_FOUND
		declined    staff confirm r1 p1b cash ref=7  => ok r1 k1 confirmed p1b | confirmed 200 p1=failed:200 p1b=succeeded:200 1=A1:valid:100 2=A2:valid:100
		declined    staff confirm r1 p1b comp        => ok r1 k1 confirmed | confirmed 0 p1=failed:200 1=A1:valid:0 2=A2:valid:0
		declined    anna cancel k1                   => ok r1 k1 cancelled | cancelled 200 p1=failed:200
		declined    bert cancel k1                   => NOT_FOUND
		declined    anna cancel k1 1                 => VALIDATION_ERROR ticketIds
		declined    staff cancel k1 override         => ok r1 k1 cancelled | cancelled 200 p1=failed:200
		declined    anna change r1 +A3               => ok r1: A1 A2 A3 until 15m for 300 | pending 300 p1=failed:200
		declined    anna extend r1                   => ok r1: A1 A2 until 20m for 200
		declined    anna release r1                  => ok r1 | cancelled 200 p1=failed:200
		declined    system expire 9                  => ok
		declined    staff giveback k1 amount=50      => ALREADY_REFUNDED
		declined    gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | pending 200-200 p1=succeeded:200-200 p1/gateway:d1=succeeded:200
		declined    gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 | confirmed 200-50 p1=succeeded:200-50 1=A1:valid:100-25 2=A2:valid:100-25 p1/gateway:d1=succeeded:50

		overdueOpen gate settle p1 ok                => ok r1 k1 confirmed p1 succeeded late booked | confirmed 200 p1=succeeded:200 1=A1:valid:100 2=A2:valid:100
		overdueOpen gate settle p1 failed            => ok r1 k1 expired p1 failed | expired 200 p1=failed:200
		overdueOpen gate settle p1 cancelled         => ok r1 k1 expired p1 cancelled | expired 200 p1=cancelled:200
		overdueOpen gate settle p1 pending           => ok r1 k1 pending p1 pending
		overdueOpen anna begin r1 p1b                => RESERVATION_EXPIRED at 15m
		overdueOpen bert begin r1 p1b                => NOT_FOUND
		overdueOpen staff confirm r1 p1b cash ref=7  => RESERVATION_EXPIRED at 15m
		overdueOpen staff confirm r1 p1b comp        => RESERVATION_EXPIRED at 15m
		overdueOpen anna cancel k1                   => ok r1 k1 cancelled p1 | cancelled 200 p1=pending:200
		overdueOpen bert cancel k1                   => NOT_FOUND
		overdueOpen anna cancel k1 1                 => VALIDATION_ERROR ticketIds
		overdueOpen staff cancel k1 override         => ok r1 k1 cancelled p1 | cancelled 200 p1=pending:200
		overdueOpen anna change r1 +A3               => RESERVATION_EXPIRED at 15m
		overdueOpen anna extend r1                   => RESERVATION_EXPIRED at 15m
		overdueOpen anna release r1                  => ok r1
		overdueOpen system expire 9                  => ok 1
		overdueOpen staff giveback k1 amount=50      => ALREADY_REFUNDED
		overdueOpen gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | expired 200-200 p1=succeeded:200-200 p1/gateway:d1=succeeded:200
		overdueOpen gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 late booked | confirmed 200-50 p1=succeeded:200-50 1=A1:valid:100-25 2=A2:valid:100-25 p1/gateway:d1=succeeded:50

		expiredOpen gate settle p1 ok                => ok r1 k1 confirmed p1 succeeded late booked | confirmed 200 p1=succeeded:200 1=A1:valid:100 2=A2:valid:100
		expiredOpen gate settle p1 failed            => ok r1 k1 expired p1 failed | expired 200 p1=failed:200
		expiredOpen gate settle p1 cancelled         => ok r1 k1 expired p1 cancelled | expired 200 p1=cancelled:200
		expiredOpen gate settle p1 pending           => ok r1 k1 pending p1 pending
		expiredOpen anna begin r1 p1b                => RESERVATION_EXPIRED at 15m
		expiredOpen bert begin r1 p1b                => NOT_FOUND
		expiredOpen staff confirm r1 p1b cash ref=7  => RESERVATION_EXPIRED at 15m
		expiredOpen staff confirm r1 p1b comp        => RESERVATION_EXPIRED at 15m
		expiredOpen anna cancel k1                   => ok r1 k1 cancelled p1 | cancelled 200 p1=pending:200
		expiredOpen bert cancel k1                   => NOT_FOUND
		expiredOpen anna cancel k1 1                 => VALIDATION_ERROR ticketIds
		expiredOpen staff cancel k1 override         => ok r1 k1 cancelled p1 | cancelled 200 p1=pending:200
		expiredOpen anna change r1 +A3               => RESERVATION_EXPIRED at 15m
		expiredOpen anna extend r1                   => RESERVATION_EXPIRED at 15m
		expiredOpen anna release r1                  => ok r1
		expiredOpen system expire 9                  => ok
		expiredOpen staff giveback k1 amount=50      => ALREADY_REFUNDED
		expiredOpen gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | expired 200-200 p1=succeeded:200-200 p1/gateway:d1=succeeded:200
		expiredOpen gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 late booked | confirmed 200-50 p1=succeeded:200-50 1=A1:valid:100-25 2=A2:valid:100-25 p1/gateway:d1=succeeded:50

		overdue     gate settle p1 ok                => ok r1 k1 confirmed p1 succeeded late booked | confirmed 200 p1=succeeded:200 1=A1:valid:100 2=A2:valid:100
		overdue     gate settle p1 failed            => ok r1 k1 pending p1 failed
		overdue     gate settle p1 cancelled         => ok r1 k1 pending p1 failed
		overdue     gate settle p1 pending           => ok r1 k1 pending p1 failed
		overdue     anna begin r1 p1b                => RESERVATION_EXPIRED at 15m
		overdue     bert begin r1 p1b                => NOT_FOUND
		overdue     staff confirm r1 p1b cash ref=7  => RESERVATION_EXPIRED at 15m
		overdue     staff confirm r1 p1b comp        => RESERVATION_EXPIRED at 15m
		overdue     anna cancel k1                   => BOOKING_NOT_CANCELLABLE
		overdue     bert cancel k1                   => NOT_FOUND
		overdue     anna cancel k1 1                 => BOOKING_NOT_CANCELLABLE
		overdue     staff cancel k1 override         => ok r1 k1 cancelled | cancelled 200 p1=failed:200
		overdue     anna change r1 +A3               => RESERVATION_EXPIRED at 15m
		overdue     anna extend r1                   => RESERVATION_EXPIRED at 15m
		overdue     anna release r1                  => ok r1
		overdue     system expire 9                  => ok 1 | expired 200 p1=failed:200
		overdue     staff giveback k1 amount=50      => ALREADY_REFUNDED
		overdue     gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | expired 200-200 p1=succeeded:200-200 p1/gateway:d1=succeeded:200
		overdue     gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 late booked | confirmed 200-50 p1=succeeded:200-50 1=A1:valid:100-25 2=A2:valid:100-25 p1/gateway:d1=succeeded:50

		expired     gate settle p1 ok                => ok r1 k1 confirmed p1 succeeded late booked | confirmed 200 p1=succeeded:200 1=A1:valid:100 2=A2:valid:100
		expired     gate settle p1 failed            => ok r1 k1 expired p1 failed
		expired     gate settle p1 cancelled         => ok r1 k1 expired p1 failed
		expired     gate settle p1 pending           => ok r1 k1 expired p1 failed
		expired     anna begin r1 p1b                => RESERVATION_EXPIRED at 15m
		expired     bert begin r1 p1b                => NOT_FOUND
		expired     staff confirm r1 p1b cash ref=7  => RESERVATION_EXPIRED at 15m
		expired     staff confirm r1 p1b comp        => RESERVATION_EXPIRED at 15m
		expired     anna cancel k1                   => BOOKING_NOT_CANCELLABLE
		expired     bert cancel k1                   => NOT_FOUND
		expired     anna cancel k1 1                 => BOOKING_NOT_CANCELLABLE
		expired     staff cancel k1 override         => BOOKING_NOT_CANCELLABLE
		expired     anna change r1 +A3               => RESERVATION_EXPIRED at 15m
		expired     anna extend r1                   => RESERVATION_EXPIRED at 15m
		expired     anna release r1                  => ok r1
		expired     system expire 9                  => ok
		expired     staff giveback k1 amount=50      => ALREADY_REFUNDED
		expired     gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | expired 200-200 p1=succeeded:200-200 p1/gateway:d1=succeeded:200
		expired     gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 late booked | confirmed 200-50 p1=succeeded:200-50 1=A1:valid:100-25 2=A2:valid:100-25 p1/gateway:d1=succeeded:50

		lost        gate settle p1 ok                => ok r1 k1 failed p1 succeeded late refunded | failed 200-200 p1=succeeded:200-200 p1/unapplied=pending:200
		lost        gate settle p1 failed            => ok r1 k1 expired p1 failed | expired 200 p1=failed:200
		lost        gate settle p1 cancelled         => ok r1 k1 expired p1 cancelled | expired 200 p1=cancelled:200
		lost        gate settle p1 pending           => ok r1 k1 pending p1 pending
		lost        anna begin r1 p1b                => RESERVATION_EXPIRED at 15m
		lost        bert begin r1 p1b                => NOT_FOUND
		lost        staff confirm r1 p1b cash ref=7  => RESERVATION_EXPIRED at 15m
		lost        staff confirm r1 p1b comp        => RESERVATION_EXPIRED at 15m
		lost        anna cancel k1                   => ok r1 k1 cancelled p1 | cancelled 200 p1=pending:200
		lost        bert cancel k1                   => NOT_FOUND
		lost        anna cancel k1 1                 => VALIDATION_ERROR ticketIds
		lost        staff cancel k1 override         => ok r1 k1 cancelled p1 | cancelled 200 p1=pending:200
		lost        anna change r1 +A3               => RESERVATION_EXPIRED at 15m
		lost        anna extend r1                   => RESERVATION_EXPIRED at 15m
		lost        anna release r1                  => ok r1
		lost        system expire 9                  => ok
		lost        staff giveback k1 amount=50      => ALREADY_REFUNDED
		lost        gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | expired 200-200 p1=succeeded:200-200 p1/gateway:d1=succeeded:200
		lost        gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 late refunded | failed 200-200 p1=succeeded:200-200 p1/unapplied=pending:200

		failed      gate settle p1 ok                => ok r1 k1 failed p1 succeeded
		failed      gate settle p1 failed            => ok r1 k1 failed p1 succeeded
		failed      gate settle p1 cancelled         => ok r1 k1 failed p1 succeeded
		failed      gate settle p1 pending           => ok r1 k1 failed p1 succeeded
		failed      anna begin r1 p1b                => RESERVATION_EXPIRED at 15m
		failed      bert begin r1 p1b                => NOT_FOUND
		failed      staff confirm r1 p1b cash ref=7  => RESERVATION_EXPIRED at 15m
		failed      staff confirm r1 p1b comp        => RESERVATION_EXPIRED at 15m
		failed      anna cancel k1                   => BOOKING_NOT_CANCELLABLE
		failed      bert cancel k1                   => NOT_FOUND
		failed      anna cancel k1 1                 => BOOKING_NOT_CANCELLABLE
		failed      staff cancel k1 override         => BOOKING_NOT_CANCELLABLE
		failed      anna change r1 +A3               => RESERVATION_EXPIRED at 15m
		failed      anna extend r1                   => RESERVATION_EXPIRED at 15m
		failed      anna release r1                  => ok r1
		failed      system expire 9                  => ok
		failed      staff giveback k1 amount=50      => ALREADY_REFUNDED
		failed      gate desk p1 ok amount=200 ref=d1 => CONFLICT
		failed      gate desk p1 ok amount=50 ref=d1 => CONFLICT

		confirmed   gate settle p1 ok                => ok r1 k1 confirmed p1 succeeded
		confirmed   gate settle p1 failed            => ok r1 k1 confirmed p1 succeeded
		confirmed   gate settle p1 cancelled         => ok r1 k1 confirmed p1 succeeded
		confirmed   gate settle p1 pending           => ok r1 k1 confirmed p1 succeeded
		confirmed   anna begin r1 p1b                => RESERVATION_NOT_ACTIVE consumed k1
		confirmed   bert begin r1 p1b                => NOT_FOUND
		confirmed   staff confirm r1 p1b cash ref=7  => RESERVATION_NOT_ACTIVE consumed k1
		confirmed   staff confirm r1 p1b comp        => RESERVATION_NOT_ACTIVE consumed k1
		confirmed   anna cancel k1                   => ok r1 k1 cancelled | cancelled 200-100 p1=succeeded:200-100 1=A1:void:100-50 2=A2:void:100-50 p1/cancel:1,2=pending:100
		confirmed   bert cancel k1                   => NOT_FOUND
		confirmed   anna cancel k1 1                 => ok r1 k1 confirmed | confirmed 200-50 p1=succeeded:200-50 1=A1:void:100-50 2=A2:valid:100 p1/cancel:1=pending:50
		confirmed   staff cancel k1 override         => ok r1 k1 cancelled | cancelled 200-200 p1=succeeded:200-200 1=A1:void:100-100 2=A2:void:100-100 p1/cancel:1,2=pending:200
		confirmed   anna change r1 +A3               => RESERVATION_NOT_ACTIVE consumed k1
		confirmed   anna extend r1                   => RESERVATION_NOT_ACTIVE consumed k1
		confirmed   anna release r1                  => RESERVATION_NOT_ACTIVE consumed k1
		confirmed   system expire 9                  => ok
		confirmed   staff giveback k1 amount=50      => ok p1/given k1 | confirmed 200-50 p1=succeeded:200-50 1=A1:valid:100-25 2=A2:valid:100-25 p1/given=pending:50
		confirmed   gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | cancelled 200-200 p1=succeeded:200-200 1=A1:void:100-100 2=A2:void:100-100 p1/gateway:d1=succeeded:200
		confirmed   gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 | confirmed 200-50 p1=succeeded:200-50 1=A1:valid:100-25 2=A2:valid:100-25 p1/gateway:d1=succeeded:50

		partly      gate settle p1 ok                => ok r1 k1 confirmed p1 succeeded
		partly      gate settle p1 failed            => ok r1 k1 confirmed p1 succeeded
		partly      gate settle p1 cancelled         => ok r1 k1 confirmed p1 succeeded
		partly      gate settle p1 pending           => ok r1 k1 confirmed p1 succeeded
		partly      anna begin r1 p1b                => RESERVATION_NOT_ACTIVE consumed k1
		partly      bert begin r1 p1b                => NOT_FOUND
		partly      staff confirm r1 p1b cash ref=7  => RESERVATION_NOT_ACTIVE consumed k1
		partly      staff confirm r1 p1b comp        => RESERVATION_NOT_ACTIVE consumed k1
		partly      anna cancel k1                   => ok r1 k1 cancelled | cancelled 200-100 p1=succeeded:200-100 1=A1:void:100-50 2=A2:void:100-50 p1/cancel:1=pending:50 p1/cancel:2=pending:50
		partly      bert cancel k1                   => NOT_FOUND
		partly      anna cancel k1 1                 => ok r1 k1 confirmed
		partly      staff cancel k1 override         => ok r1 k1 cancelled | cancelled 200-150 p1=succeeded:200-150 1=A1:void:100-50 2=A2:void:100-100 p1/cancel:1=pending:50 p1/cancel:2=pending:100
		partly      anna change r1 +A3               => RESERVATION_NOT_ACTIVE consumed k1
		partly      anna extend r1                   => RESERVATION_NOT_ACTIVE consumed k1
		partly      anna release r1                  => RESERVATION_NOT_ACTIVE consumed k1
		partly      system expire 9                  => ok
		partly      staff giveback k1 amount=50      => ok p1/given k1 | confirmed 200-100 p1=succeeded:200-100 1=A1:void:100-50 2=A2:valid:100-50 p1/cancel:1=pending:50 p1/given=pending:50
		partly      gate desk p1 ok amount=200 ref=d1 => CONFLICT
		partly      gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 | confirmed 200-100 p1=succeeded:200-100 1=A1:void:100-50 2=A2:valid:100-50 p1/cancel:1=pending:50 p1/gateway:d1=succeeded:50

		used        gate settle p1 ok                => ok r1 k1 confirmed p1 succeeded
		used        gate settle p1 failed            => ok r1 k1 confirmed p1 succeeded
		used        gate settle p1 cancelled         => ok r1 k1 confirmed p1 succeeded
		used        gate settle p1 pending           => ok r1 k1 confirmed p1 succeeded
		used        anna begin r1 p1b                => RESERVATION_NOT_ACTIVE consumed k1
		used        bert begin r1 p1b                => NOT_FOUND
		used        staff confirm r1 p1b cash ref=7  => RESERVATION_NOT_ACTIVE consumed k1
		used        staff confirm r1 p1b comp        => RESERVATION_NOT_ACTIVE consumed k1
		used        anna cancel k1                   => BOOKING_NOT_CANCELLABLE
		used        bert cancel k1                   => NOT_FOUND
		used        anna cancel k1 1                 => BOOKING_NOT_CANCELLABLE
		used        staff cancel k1 override         => ok r1 k1 cancelled | cancelled 200-200 p1=succeeded:200-200 1=A1:void:100-100 2=A2:void:100-100 p1/cancel:1,2=pending:200
		used        anna change r1 +A3               => RESERVATION_NOT_ACTIVE consumed k1
		used        anna extend r1                   => RESERVATION_NOT_ACTIVE consumed k1
		used        anna release r1                  => RESERVATION_NOT_ACTIVE consumed k1
		used        system expire 9                  => ok
		used        staff giveback k1 amount=50      => ok p1/given k1 | confirmed 200-50 p1=succeeded:200-50 1=A1:used:100-25 2=A2:valid:100-25 p1/given=pending:50
		used        gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | cancelled 200-200 p1=succeeded:200-200 1=A1:void:100-100 2=A2:void:100-100 p1/gateway:d1=succeeded:200
		used        gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 | confirmed 200-50 p1=succeeded:200-50 1=A1:used:100-25 2=A2:valid:100-25 p1/gateway:d1=succeeded:50

		cancelled   gate settle p1 ok                => ok r1 k1 cancelled p1 succeeded
		cancelled   gate settle p1 failed            => ok r1 k1 cancelled p1 succeeded
		cancelled   gate settle p1 cancelled         => ok r1 k1 cancelled p1 succeeded
		cancelled   gate settle p1 pending           => ok r1 k1 cancelled p1 succeeded
		cancelled   anna begin r1 p1b                => RESERVATION_NOT_ACTIVE consumed k1
		cancelled   bert begin r1 p1b                => NOT_FOUND
		cancelled   staff confirm r1 p1b cash ref=7  => RESERVATION_NOT_ACTIVE consumed k1
		cancelled   staff confirm r1 p1b comp        => RESERVATION_NOT_ACTIVE consumed k1
		cancelled   anna cancel k1                   => ok r1 k1 cancelled
		cancelled   bert cancel k1                   => NOT_FOUND
		cancelled   anna cancel k1 1                 => ok r1 k1 cancelled
		cancelled   staff cancel k1 override         => ok r1 k1 cancelled
		cancelled   anna change r1 +A3               => RESERVATION_NOT_ACTIVE consumed k1
		cancelled   anna extend r1                   => RESERVATION_NOT_ACTIVE consumed k1
		cancelled   anna release r1                  => RESERVATION_NOT_ACTIVE consumed k1
		cancelled   system expire 9                  => ok
		cancelled   staff giveback k1 amount=50      => ALREADY_REFUNDED
		cancelled   gate desk p1 ok amount=200 ref=d1 => CONFLICT
		cancelled   gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 | cancelled 200-150 p1=succeeded:200-150 1=A1:void:100-75 2=A2:void:100-75 p1/cancel:1,2=pending:100 p1/gateway:d1=succeeded:50

		abandoned   gate settle p1 ok                => ok r1 k1 cancelled p1 succeeded late refunded | cancelled 200-200 p1=succeeded:200-200 p1/unapplied=pending:200
		abandoned   gate settle p1 failed            => ok r1 k1 cancelled p1 failed | cancelled 200 p1=failed:200
		abandoned   gate settle p1 cancelled         => ok r1 k1 cancelled p1 cancelled | cancelled 200 p1=cancelled:200
		abandoned   gate settle p1 pending           => ok r1 k1 cancelled p1 pending
		abandoned   anna begin r1 p1b                => RESERVATION_NOT_ACTIVE cancelled k1
		abandoned   bert begin r1 p1b                => NOT_FOUND
		abandoned   staff confirm r1 p1b cash ref=7  => RESERVATION_NOT_ACTIVE cancelled k1
		abandoned   staff confirm r1 p1b comp        => RESERVATION_NOT_ACTIVE cancelled k1
		abandoned   anna cancel k1                   => ok r1 k1 cancelled p1
		abandoned   bert cancel k1                   => NOT_FOUND
		abandoned   anna cancel k1 1                 => VALIDATION_ERROR ticketIds[0]
		abandoned   staff cancel k1 override         => ok r1 k1 cancelled p1
		abandoned   anna change r1 +A3               => RESERVATION_NOT_ACTIVE cancelled k1
		abandoned   anna extend r1                   => RESERVATION_NOT_ACTIVE cancelled k1
		abandoned   anna release r1                  => ok r1
		abandoned   system expire 9                  => ok
		abandoned   staff giveback k1 amount=50      => ALREADY_REFUNDED
		abandoned   gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | cancelled 200-200 p1=succeeded:200-200 p1/gateway:d1=succeeded:200
		abandoned   gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 late refunded | cancelled 200-200 p1=succeeded:200-200 p1/unapplied=pending:200
	`) {
		if len(words(line)) == 0 {
			continue
		}
		state, event := split(strings.TrimSpace(line), " ")
		event, book := split(event, "|")
		text, _ := split(event, "=>")
		t.Run(state+"/"+strings.ReplaceAll(text, " ", "-"), func(t *testing.T) {
			t.Parallel()
			before := bookingText(play(t, states[state]).booking(id("k1")))
			if book == "" {
				book = before
			}
			play(t, states[state]+"\n"+event+"\nbook k1 "+book)
		})
	}
}

func TestConfirmReservation(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"PaidInCash": `
			anna place r1 A1 GA*2          => ok r1: A1 GA*2 until 15m for 180
			staff confirm r1 p1 cash       => VALIDATION_ERROR paymentReference
			staff confirm r1 p1 cash ref=7 => ok r1 k1 confirmed p1
			  log 2.0 booking.created staff staff r1 k1 >pending
			  log 2.1 payment.succeeded staff staff r1 k1 p1 180 >succeeded
			  log 2.2 reservation.consumed staff staff r1 k1 active>consumed A1=b GA-2+2b until 15m
			  log 2.3 booking.confirmed staff staff r1 k1 pending>confirmed
			  log 2.4 ticket.issued staff staff r1 k1 k1.1 k1.2 k1.3 >valid
			  tasks mail confirmation k1
			book k1 confirmed 180 p1=succeeded:180 1=A1:valid:100 2=GA:valid:40 3=GA:valid:40
			map baaaaaaaaa GA 0+2/10 PIT 0+0/4`,
		"GivenAway": `
			anna place r1 A1 GA*1          => ok r1: A1 GA*1 until 15m for 140
			staff confirm r1 p1 comp       => ok r1 k1 confirmed
			book k1 confirmed 0 1=A1:valid:0 2=GA:valid:0
			staff giveback k1              => ALREADY_REFUNDED
			staff cancel k1 override       => ok r1 k1 cancelled
			  tasks mail cancellation k1 of [1 2]
			book k1 cancelled 0 1=A1:void:0 2=GA:void:0`,
		"AZeroTotalNeedsNoReference": `
			staff amend price=0            => ok
			anna place r1 A1               => ok r1: A1 until 15m for 0
			staff confirm r1 p1 cash       => ok r1 k1 confirmed
			book k1 confirmed 0 1=A1:valid:0`,
		"AfterACardWasDeclined": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			staff confirm r1 p1b terminal ref=7 => PAYMENT_IN_PROGRESS k1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			& staff confirm r1 p1b terminal ref=7 => ok r1 k1 confirmed p1b
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded late refunded
			book k1 confirmed 100-100 p1=succeeded:100-100 p1b=succeeded:100 1=A1:valid:100 p1/unapplied=pending:100`,
		"OnlyWhileTheHoldLives": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			at 59.999999s
			staff confirm r9 p9 cash ref=7 => NOT_FOUND
			at 1m
			staff confirm r1 p1 cash ref=7 => RESERVATION_EXPIRED at 1m`,
		"ARetryIsTheSameBooking": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			staff confirm r1 p1 cash ref=7 key=k => ok r1 k1 confirmed p1
			& staff confirm r1 p1 cash ref=7 key=k => again r1 k1 confirmed p1
			staff confirm r1 p1 cash ref=7 => RESERVATION_NOT_ACTIVE consumed k1`,
		"SoldFromABlock": `
			staff block b1 A1 A2           => ok b1 2
			staff place r1 A1 from=b1      => ok r1: A1 until 15m for 100
			staff confirm r1 p1 comp       => ok r1 k1 confirmed
			staff unblock b1               => SEAT_ALREADY_RESERVED A1=booked
			staff cancel k1 override       => ok r1 k1 cancelled
			map xxaaaaaaaa GA 0+0/10 PIT 0+0/4
			staff unblock b1               => ok b1 2
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"TicketTypesAndPricesAreThoseOfTheHold": `
			anna place r1 A1:child A2 GA*1:child GA*1 => ok r1: A1:child A2 GA*1:child GA*1 until 15m for 210
			staff amend price=999          => ok
			anna begin r1 p1               => ok r1: A1:child A2 GA*1:child GA*1 until 15m for 210 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			book k1 confirmed 210 p1=succeeded:210 1=A1:child:valid:50 2=A2:valid:100 3=GA:child:valid:20 4=GA:valid:40
			staff cancel k1 1 3 override   => ok r1 k1 confirmed
			book k1 confirmed 210-70 p1=succeeded:210-70 1=A1:child:void:50-50 2=A2:valid:100 3=GA:child:void:20-20 4=GA:valid:40 p1/cancel:1,3=pending:70`,
	})
}

func TestCancelBooking(t *testing.T) {
	t.Parallel()
	const bought = `
			anna place r1 A1 A2 A3 GA*2    => ok r1: A1 A2 A3 GA*2 until 15m for 380
			anna begin r1 p1               => ok r1: A1 A2 A3 GA*2 until 15m for 380 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
	`
	const whole = "p1=succeeded:380 1=A1:valid:100 2=A2:valid:100 3=A3:valid:100 4=GA:valid:40 5=GA:valid:40\n"
	scripts(t, map[string]string{
		"NotWithoutAPolicy": bought + `
			anna cancel k1                 => BOOKING_NOT_CANCELLABLE
			staff cancel k1                => NOT_FOUND
			book k1 confirmed 380 ` + whole + `
			staff cancel k1 override       => ok r1 k1 cancelled
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"AllOfIt": `policy 100 0` + bought + `
			anna cancel k1                 => ok r1 k1 cancelled
			  log 4.0 ticket.void anna buyer r1 k1 k1.1 k1.2 k1.3 k1.4 k1.5 valid>void A1=a A2=a A3=a GA+0-2b
			  log 4.1 refund.created anna buyer r1 k1 p1 p1/cancel:1,2,3,4,5 k1.1 k1.2 k1.3 k1.4 k1.5 380 >pending
			  log 4.2 booking.cancelled anna buyer r1 k1 confirmed>cancelled
			  tasks refund p1/cancel:1,2,3,4,5; mail cancellation k1 of [1 2 3 4 5] p1/cancel:1,2,3,4,5
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4
			anna cancel k1                 => ok r1 k1 cancelled
			  log nothing
			  tasks nothing
			anna cancel k1 2               => ok r1 k1 cancelled
			  log nothing
			anna cancel k1 9               => VALIDATION_ERROR ticketIds[0]`,
		"UntilSomeTimeBeforeTheStart": `policy 100 60` + bought + `
			at 6h59m59.999999s
			anna cancel k1 1               => ok r1 k1 confirmed
			at 7h
			anna cancel k1                 => BOOKING_NOT_CANCELLABLE until 7h
			anna cancel k1 1               => ok r1 k1 confirmed
			  log nothing
			staff cancel k1 2 override     => ok r1 k1 confirmed
			book k1 confirmed 380-200 p1=succeeded:380-200 1=A1:void:100-100 2=A2:void:100-100 3=A3:valid:100 4=GA:valid:40 5=GA:valid:40 p1/cancel:1=pending:100 p1/cancel:2=pending:100`,
		"ByTheTermsAsTheyAre": `policy 100 60` + bought + `
			at 6h
			staff amend starts=6h30m       => ok
			anna cancel k1                 => BOOKING_NOT_CANCELLABLE until 5h30m`,
		"AFeeIsKept": `policy 33 0` + bought + `
			anna cancel k1 1 2 3           => ok r1 k1 confirmed
			book k1 confirmed 380-99 p1=succeeded:380-99 1=A1:void:100-33 2=A2:void:100-33 3=A3:void:100-33 4=GA:valid:40 5=GA:valid:40 p1/cancel:1,2,3=pending:99
			anna cancel k1                 => ok r1 k1 cancelled
			book k1 cancelled 380-125 p1=succeeded:380-125 1=A1:void:100-33 2=A2:void:100-33 3=A3:void:100-33 4=GA:void:40-13 5=GA:void:40-13 p1/cancel:1,2,3=pending:99 p1/cancel:4,5=pending:26`,
		"AllOfIsKept": `policy 0 0` + bought + `
			anna cancel k1 1               => ok r1 k1 confirmed
			  log 4.0 ticket.void anna buyer r1 k1 k1.1 valid>void A1=a
			  tasks mail cancellation k1 of [1]
			anna cancel k1                 => ok r1 k1 cancelled
			book k1 cancelled 380 p1=succeeded:380 1=A1:void:100 2=A2:void:100 3=A3:void:100 4=GA:void:40 5=GA:void:40`,
		"OddCentsGoToTheEarlierTickets": `
			policy 50 0
			staff amend price=33           => ok
			anna place r1 A1 A2 A3         => ok r1: A1 A2 A3 until 15m for 99
			anna begin r1 p1               => ok r1: A1 A2 A3 until 15m for 99 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			anna cancel k1                 => ok r1 k1 cancelled
			book k1 cancelled 99-50 p1=succeeded:99-50 1=A1:void:33-17 2=A2:void:33-17 3=A3:void:33-16 p1/cancel:1,2,3=pending:50`,
		"OneTicketOfThree": `policy 100 0` + bought + `
			anna cancel k1 2               => ok r1 k1 confirmed
			  log 4.0 ticket.void anna buyer r1 k1 k1.2 valid>void A2=a
			  log 4.1 refund.created anna buyer r1 k1 p1 p1/cancel:2 k1.2 100 >pending
			map babaaaaaaa GA 0+2/10 PIT 0+0/4
			bert place r2 A2               => ok r2: A2 until 15m for 100
			staff confirm r2 p2 comp       => ok r2 k2 confirmed
			anna cancel k1 2               => ok r1 k1 confirmed
			  log nothing
			anna cancel k1 2 4             => ok r1 k1 confirmed
			book k1 confirmed 380-140 p1=succeeded:380-140 1=A1:valid:100 2=A2:void:100-100 3=A3:valid:100 4=GA:void:40-40 5=GA:valid:40 p1/cancel:2=pending:100 p1/cancel:4=pending:40
			map bbbaaaaaaa GA 0+1/10 PIT 0+0/4`,
		"TicketsMustBeOfTheBookingAndNamedOnce": `policy 100 0` + bought + `
			anna cancel k1 1 9 1           => VALIDATION_ERROR ticketIds[1] ticketIds[2]
			book k1 confirmed 380 ` + whole,
		"NotWhatWasUsed": `policy 100 0` + bought + `
			door scan k1.1 s1              => ok k1.1 k1 admitted
			& anna cancel k1               => BOOKING_NOT_CANCELLABLE
			anna cancel k1 1 2             => BOOKING_NOT_CANCELLABLE
			anna cancel k1 2               => ok r1 k1 confirmed
			staff cancel k1 override       => ok r1 k1 cancelled
			  log 6.0 ticket.void staff staff r1 k1 k1.1 k1.3 k1.4 k1.5 >void A1=a A3=a GA+0-2b
			  log 6.1 refund.created staff staff r1 k1 p1 p1/cancel:1,3,4,5 k1.1 k1.3 k1.4 k1.5 280 >pending
			  log 6.2 booking.cancelled staff staff r1 k1 confirmed>cancelled`,
		"ACancelledShowGivesAllBack": `policy 0 0` + bought + `
			bert place r2 A8               => ok r2: A8 until 15m for 100
			bert begin r2 p2               => ok r2: A8 until 15m for 100 k2 pending p2
			door scan k1.1 s1              => ok k1.1 k1 admitted
			staff cancel                   => ok
			staff cancel k1 override reason=show_cancelled => ok r1 k1 cancelled
			& staff cancel k2 override reason=show_cancelled => ok r2 k2 cancelled p2
			gate settle p2 ok              => ok r2 k2 cancelled p2 succeeded late refunded
			book k1 cancelled 380-380 p1=succeeded:380-380 1=A1:void:100-100 2=A2:void:100-100 3=A3:void:100-100 4=GA:void:40-40 5=GA:void:40-40 p1/cancel:1,2,3,4,5=pending:380
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"CancelledAndSoldAgainInOneBatch": `policy 100 0` + bought + `
			anna cancel k1 1 4             => ok r1 k1 confirmed
			& bert place r2 A1             => ok r2: A1 until 15m for 100
			& staff confirm r2 p2 comp     => ok r2 k2 confirmed
			& staff place r3 GA*9          => ok r3: GA*9 until 15m for 360
			& staff cancel k2 override     => ok r2 k2 cancelled
			& carl place r4 A1             => ok r4: A1 until 15m for 100
			map hbbaaaaaaa GA 9+1/10 PIT 0+0/4`,
		"TwiceInOneBatch": `policy 100 0` + bought + `
			anna cancel k1 1               => ok r1 k1 confirmed
			& anna cancel k1               => ok r1 k1 cancelled
			& anna cancel k1               => ok r1 k1 cancelled
			  tasks refund p1/cancel:1; mail cancellation k1 of [1] p1/cancel:1; refund p1/cancel:2,3,4,5; mail cancellation k1 of [2 3 4 5] p1/cancel:2,3,4,5
			book k1 cancelled 380-380 p1=succeeded:380-380 1=A1:void:100-100 2=A2:void:100-100 3=A3:void:100-100 4=GA:void:40-40 5=GA:void:40-40 p1/cancel:1=pending:100 p1/cancel:2,3,4,5=pending:280`,
		"ARetryGetsTheFirstAnswer": `policy 100 0` + bought + `
			anna cancel k1 1 key=k         => ok r1 k1 confirmed
			anna cancel k1                 => ok r1 k1 cancelled
			anna cancel k1 1 key=k         => again r1 k1 confirmed`,
		"ManyTicketsHaveAShortCause": `
			staff place r1 GA*10           => ok r1: GA*10 until 15m for 400
			staff confirm r1 p1 invoice ref=7 => ok r1 k1 confirmed p1
			staff cancel k1 10 override    => ok r1 k1 confirmed
			staff cancel k1 override       => ok r1 k1 cancelled
			  log 4.0 ticket.void staff staff r1 k1 k1.1 k1.2 k1.3 k1.4 k1.5 k1.6 k1.7 k1.8 k1.9 valid>void GA+0-9b
			  log 4.1 refund.succeeded staff staff r1 k1 p1 p1/cancel:1,2,3,4,5,6,7,8,+1 k1.1 k1.2 k1.3 k1.4 k1.5 k1.6 k1.7 k1.8 k1.9 360 >succeeded
			  log 4.2 booking.cancelled staff staff r1 k1 confirmed>cancelled`,
	})
}

// What others can have, and how many places one may, follows from bookings.
func TestBookedPlaces(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"PerCustomerCountsWhatIsNotCancelled": `
			policy 100 0
			staff amend perCustomer=3      => ok
			anna place r1 A1 A2 GA*1       => ok r1: A1 A2 GA*1 until 15m for 240
			anna begin r1 p1               => ok r1: A1 A2 GA*1 until 15m for 240 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			anna place r2 A3               => CUSTOMER_LIMIT_REACHED limit=3 held=3
			anna cancel k1 1               => ok r1 k1 confirmed
			& anna place r2 A3             => ok r2: A3 until 15m for 100
			& anna place r3 A4             => CUSTOMER_LIMIT_REACHED limit=3 held=3
			anna cancel k1 3               => ok r1 k1 confirmed
			anna place r3 A4 A5            => CUSTOMER_LIMIT_REACHED limit=3 held=2
			anna place r3 A4               => ok r3: A4 until 15m for 100`,
		"APlanMayNotLoseABookedSeat": `
			policy 100 0
			anna place r1 A7 PIT*1         => ok r1: A7 PIT*1 until 15m for 140
			anna begin r1 p1               => ok r1: A7 PIT*1 until 15m for 140 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			staff amend plan=small         => PLAN_IN_USE A7=booked
			anna cancel k1 1               => ok r1 k1 confirmed
			staff amend plan=small         => PLAN_IN_USE
			anna cancel k1                 => ok r1 k1 cancelled
			& staff amend plan=small       => ok
			map aaaaaaaa GA 0+0/5`,
		"ABookedSeatKeepsItsTicketInANewPlan": `
			policy 100 0
			anna place r1 A1 GA*2          => ok r1: A1 GA*2 until 15m for 180
			anna begin r1 p1               => ok r1: A1 GA*2 until 15m for 180 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			staff amend plan=big           => ok
			anna cancel k1 1 2             => ok r1 k1 confirmed
			map aaaaaaaaaaaa GA 0+1/12 PIT 0+0/4 BAR 0+0/3`,
		"CapacityIsNotLoweredBelowWhatIsBooked": `
			anna place r1 GA*3             => ok r1: GA*3 until 15m for 120
			staff confirm r1 p1 comp       => ok r1 k1 confirmed
			staff capacity GA 2            => CAPACITY_IN_USE inUse=3
			staff cancel k1 1 override     => ok r1 k1 confirmed
			staff capacity GA 2            => ok
			map aaaaaaaaaa GA 0+2/2 PIT 0+0/4`,
	})
}

func TestHoldsThatAreBeingPaidEnd(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"AndTheirBookingWithThem": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			at 1m
			bert place r2 A1               => ok r2: A1 until 16m for 100
			  log 4.0 reservation.expired system expired r1 active>expired A1=a until 1m
			  log 4.1 booking.expired system expired r1 k1 pending>expired
			  log 4.2 reservation.created bert buyer r2 >active A1=h until 16m
			  tasks mail expiry k1`,
		"ExceptWhileAnAttemptIsOpen": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			at 2m
			system expire 9                => ok 1
			  log 3.0 reservation.expired system swept r1 active>expired A1=a until 2m
			  tasks nothing
			book k1 pending 100 p1=pending:100
			gate settle p1 failed          => ok r1 k1 expired p1 failed
			  tasks mail expiry k1`,
		"AnOverdueOneIsNotCancelledAnyMore": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			at 1m
			anna cancel k1                 => BOOKING_NOT_CANCELLABLE
			system expire 9                => ok 1
			anna cancel k1                 => BOOKING_NOT_CANCELLABLE`,
	})
}

// Who buys and who comes; of one batch the last word counts, whoever said it.
func TestPeople(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"TheBuyerStaysForTheNextAttempt": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna begin r1 p1 holders=Anna,Bert => ok r1: A1 A2 until 15m for 200 k1 pending p1
			people k1 anna Anna,Bert
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			anna begin r1 p1b free         => ok r1: A1 A2 until 15m for 200 k1 pending p1b
			gate settle p1b ok             => ok r1 k1 confirmed p1b succeeded
			people k1 anna Anna,Bert`,
		"TheLastWordCounts": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna begin r1 p1 holders=Anna,Bert => ok r1: A1 A2 until 15m for 200 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			& staff begin r1 p1b           => ok r1: A1 A2 until 15m for 200 k1 pending p1b
			& gate settle p1b failed       => ok r1 k1 pending p1b failed
			& staff confirm r1 p1c cash ref=7 holders=Carl => ok r1 k1 confirmed p1c
			people k1 staff Carl`,
		"NamesGoWithThePlacesTheyWereOn": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna begin r1 p1 holders=Anna,Bert => ok r1: A1 A2 until 15m for 200 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			& anna change r1 -A1           => ok r1: A2 until 15m for 100
			people k1 anna
			anna begin r1 p1b holders=Bert => ok r1: A2 until 15m for 100 k1 pending p1b
			people k1 anna Bert
			gate settle p1b failed         => ok r1 k1 pending p1b failed
			anna change r1 +A3             => ok r1: A2 A3 until 15m for 200
			& anna begin r1 p1c holders=Bert,Carl => ok r1: A2 A3 until 15m for 200 k1 pending p1c
			people k1 anna Bert,Carl`,
		"GivenAwayToNobodyInParticular": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			staff confirm r1 p1 comp       => ok r1 k1 confirmed
			people k1
			gate settle p1 ok              => NOT_FOUND`,
	})
}

// Whoever may cancel and refund may do so for their own house only.
func TestStaffOfAnotherHouseSeeNoBookings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"begin r1 p1b", "confirm r1 p1b cash ref=7", "cancel k1 override", "giveback k1", "retry p1/unapplied", "scan k1.1 s1",
	} {
		d := play(t, `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded`)
		terms := *d.terms
		terms.OrganisationID = id("ours")
		d.terms = &terms
		for _, staff := range []bool{true, false} { // a key with other scopes is not reservations:staff
			cmd := command("staff", words(text))
			cmd.Actor.Staff, cmd.Actor.OrganisationID = staff, id("theirs")
			if outcomes, _ := d.decide(noon, cmd); outcomeText(outcomes[0]) != "NOT_FOUND" {
				t.Errorf("%s: %s", text, outcomeText(outcomes[0]))
			}
		}
	}
}

func TestDerivedID(t *testing.T) {
	t.Parallel()
	from := uuid.Must(uuid.NewV7())
	seen := map[uuid.UUID]string{from: "itself"}
	for _, what := range []string{"", "ticket 1", "ticket 2", "ticket 11", "unapplied", "cancel:1", "cancel:1,1"} {
		u := DerivedID(from, what)
		if other, taken := seen[u]; taken {
			t.Errorf("%q is %q", what, other)
		}
		seen[u] = what
		if u != DerivedID(from, what) || u.Version() != 7 || u.Variant() != uuid.RFC4122 || u.Time() != from.Time() {
			t.Errorf("%q is %s of %s", what, u, from)
		}
		if DerivedID(uuid.Must(uuid.NewV7()), what) == u {
			t.Errorf("%q is the same of another", what)
		}
	}
}
