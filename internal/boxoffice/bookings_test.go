package boxoffice

import (
	"strings"
	"testing"
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
		"abandoned":   begun + "anna cancel k1 => ok r1 k1 cancelled\nat 5m",
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
		open        anna cancel k1                   => ok r1 k1 cancelled | cancelled 200 p1=pending:200
		open        bert cancel k1                   => NOT_FOUND
		open        anna cancel k1 1                 => VALIDATION_ERROR ticketIds
		open        staff cancel k1 override         => ok r1 k1 cancelled | cancelled 200 p1=pending:200
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
		overdueOpen anna cancel k1                   => ok r1 k1 cancelled | cancelled 200 p1=pending:200
		overdueOpen bert cancel k1                   => NOT_FOUND
		overdueOpen anna cancel k1 1                 => VALIDATION_ERROR ticketIds
		overdueOpen staff cancel k1 override         => ok r1 k1 cancelled | cancelled 200 p1=pending:200
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
		expiredOpen anna cancel k1                   => ok r1 k1 cancelled | cancelled 200 p1=pending:200
		expiredOpen bert cancel k1                   => NOT_FOUND
		expiredOpen anna cancel k1 1                 => VALIDATION_ERROR ticketIds
		expiredOpen staff cancel k1 override         => ok r1 k1 cancelled | cancelled 200 p1=pending:200
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
		lost        anna cancel k1                   => ok r1 k1 cancelled | cancelled 200 p1=pending:200
		lost        bert cancel k1                   => NOT_FOUND
		lost        anna cancel k1 1                 => VALIDATION_ERROR ticketIds
		lost        staff cancel k1 override         => ok r1 k1 cancelled | cancelled 200 p1=pending:200
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
		failed      gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1
		failed      gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1

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
		partly      gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | cancelled 200-200 p1=succeeded:200-200 1=A1:void:100-100 2=A2:void:100-100 p1/cancel:1=pending:50 p1/gateway:d1=succeeded:150
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
		cancelled   gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1 | cancelled 200-200 p1=succeeded:200-200 1=A1:void:100-100 2=A2:void:100-100 p1/cancel:1,2=pending:100 p1/gateway:d1=succeeded:100
		cancelled   gate desk p1 ok amount=50 ref=d1 => ok r1 k1 p1 | cancelled 200-150 p1=succeeded:200-150 1=A1:void:100-75 2=A2:void:100-75 p1/cancel:1,2=pending:100 p1/gateway:d1=succeeded:50

		abandoned   gate settle p1 ok                => ok r1 k1 cancelled p1 succeeded late refunded | cancelled 200-200 p1=succeeded:200-200 p1/unapplied=pending:200
		abandoned   gate settle p1 failed            => ok r1 k1 cancelled p1 failed | cancelled 200 p1=failed:200
		abandoned   gate settle p1 cancelled         => ok r1 k1 cancelled p1 cancelled | cancelled 200 p1=cancelled:200
		abandoned   gate settle p1 pending           => ok r1 k1 cancelled p1 pending
		abandoned   anna begin r1 p1b                => RESERVATION_NOT_ACTIVE cancelled k1
		abandoned   bert begin r1 p1b                => NOT_FOUND
		abandoned   staff confirm r1 p1b cash ref=7  => RESERVATION_NOT_ACTIVE cancelled k1
		abandoned   staff confirm r1 p1b comp        => RESERVATION_NOT_ACTIVE cancelled k1
		abandoned   anna cancel k1                   => ok r1 k1 cancelled
		abandoned   bert cancel k1                   => NOT_FOUND
		abandoned   anna cancel k1 1                 => VALIDATION_ERROR ticketIds[0]
		abandoned   staff cancel k1 override         => ok r1 k1 cancelled
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
