package boxoffice

import "testing"

// The time that paying is given: once, and taken back.
func TestPaymentExtension(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"IsGivenWhenTheHoldWouldEndSooner": `
			anna place r1 A1 GA*1 ttl=60   => ok r1: A1 GA*1 until 1m for 140
			at 30s
			anna begin r1 p1               => ok r1: A1 GA*1 until 2m30s for 140 k1 pending p1
			  log 2.0 booking.created anna buyer r1 k1 >pending
			  log 2.1 payment.created anna buyer r1 k1 p1 140 >pending
			  log 2.2 reservation.extended anna buyer r1 A1=h until 2m30s
			  tasks settle 45s
			hold r1 active until 2m30s own 1m
			at 2m29.999999s
			bert place r2 A1               => SEAT_ALREADY_RESERVED A1=held
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			  log 3.0 payment.succeeded gate gateway r1 k1 p1 140 pending>succeeded
			  log 3.1 reservation.consumed gate buyer r1 k1 active>consumed A1=b GA-1+1b until 2m30s
			  log 3.2 booking.confirmed gate buyer r1 k1 pending>confirmed
			  log 3.3 ticket.issued gate buyer r1 k1 k1.1 k1.2 >valid
			  tasks mail confirmation k1
			map baaaaaaaaa GA 0+1/10 PIT 0+0/4`,
		"IsNotNeededWhenTheHoldLastsLonger": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			at 13m
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			hold r1 active until 15m`,
		"MayPassTheCap": `
			staff amend maxHold=900        => ok
			anna place r1 A1               => ok r1: A1 until 15m for 100
			at 14m59s
			anna begin r1 p1               => ok r1: A1 until 16m59s for 100 k1 pending p1
			anna extend r1                 => EXTENSION_LIMIT_REACHED max 15m
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			hold r1 active until 15m own 15m`,
		"IsTakenBackWhenThePaymentFails": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			at 10s
			gate settle p1 failed code=no  => ok r1 k1 pending p1 failed
			  log 3.0 payment.failed gate gateway r1 k1 p1 100 pending>failed
			  log 3.1 reservation.extended gate payment_failed r1 A1=h until 1m
			  tasks nothing
			hold r1 active until 1m own 1m
			at 1m
			bert place r2 A1               => ok r2: A1 until 16m for 100
			book k1 expired 100 p1=failed:100`,
		"AndTheHoldEndsWithIt": `
			anna place r1 A1 GA*2 ttl=60   => ok r1: A1 GA*2 until 1m for 180
			anna begin r1 p1               => ok r1: A1 GA*2 until 2m for 180 k1 pending p1
			at 1m
			gate settle p1 failed          => ok r1 k1 expired p1 failed
			  log 3.0 payment.failed gate gateway r1 k1 p1 180 pending>failed
			  log 3.1 reservation.expired system expired r1 active>expired A1=a GA-2 until 1m
			  log 3.2 booking.expired system expired r1 k1 pending>expired
			  tasks mail expiry k1
			hold r1 expired until 1m own 1m
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"AndItsPlacesCountNoMore": `
			staff amend perCustomer=2      => ok
			anna place r1 A1 A2 ttl=60     => ok r1: A1 A2 until 1m for 200
			anna begin r1 p1               => ok r1: A1 A2 until 2m for 200 k1 pending p1
			at 1m
			anna place r2 A3               => CUSTOMER_LIMIT_REACHED limit=2 held=2
			& gate settle p1 failed        => ok r1 k1 expired p1 failed
			& anna place r2 A3             => ok r2: A3 until 16m for 100`,
		"IsGivenOnce": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			at 10s
			gate settle p1 cancelled       => ok r1 k1 pending p1 cancelled
			anna begin r1 p1b              => ok r1: A1 until 1m for 100 k1 pending p1b
			at 1m
			bert place r2 A1               => ok r2: A1 until 16m for 100
			gate settle p1b failed         => ok r1 k1 expired p1b failed
			book k1 expired 100 p1=cancelled:100 p1b=failed:100`,
		"AnAttemptThatNeededNoneLeavesItToTheNext": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			at 14m
			anna begin r1 p1b              => ok r1: A1 until 16m for 100 k1 pending p1b
			at 14m1s
			gate settle p1b failed         => ok r1 k1 pending p1b failed
			hold r1 active until 15m own 15m`,
		"TheHoldsOwnEndMovesBehindIt": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			at 30s
			anna extend r1                 => ok r1: A1 until 2m for 100
			hold r1 active until 2m own 1m30s
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			hold r1 active until 1m30s own 1m30s
			anna begin r1 p1b              => ok r1: A1 until 1m30s for 100 k1 pending p1b
			at 1m
			anna extend r1                 => ok r1: A1 until 2m for 100
			hold r1 active until 2m own 2m`,
		"AndBeyondIt": `
			anna place r1 A1 ttl=600       => ok r1: A1 until 10m for 100
			at 9m
			anna begin r1 p1               => ok r1: A1 until 11m for 100 k1 pending p1
			anna extend r1                 => ok r1: A1 until 19m for 100
			hold r1 active until 19m own 19m
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			hold r1 active until 19m own 19m`,
		"NothingIsTakenBackOfAHoldThatIsOver": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			at 3m
			gate settle p1 failed          => ok r1 k1 expired p1 failed
			hold r1 expired until 2m own 1m`,
	})
}

// Who may pay, what, when; and what waits meanwhile.
func TestBeginPayment(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"AnotherTimeIsAnotherAttempt": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			anna begin r1 p1b free         => PAYMENT_IN_PROGRESS k1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			& anna begin r1 p1b free       => ok r1: A1 until 15m for 100 k1 pending p1b
			& anna begin r1 p1c free       => PAYMENT_IN_PROGRESS k1
			gate settle p1b ok             => ok r1 k1 confirmed p1b succeeded
			book k1 confirmed 100 p1=failed:100 p1b=succeeded:100 1=A1:valid:100`,
		"OfTwoAtOnceOneBegins": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1 key=k1        => ok r1: A1 until 15m for 100 k1 pending p1
			& anna begin r1 p1b key=k2     => PAYMENT_IN_PROGRESS k1
			& anna begin r1 p1c key=k1     => again r1: A1 until 15m for 100 k1 pending p1
			book k1 pending 100 p1=pending:100`,
		"NamesTheBuyerOnceAtLeast": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1 free          => NOT_FOUND
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1`,
		"NamesNoMorePeopleThanPlaces": `
			anna place r1 A1 GA*1          => ok r1: A1 GA*1 until 15m for 140
			anna begin r1 p1 holders=X,Y,Z => VALIDATION_ERROR holders
			staff confirm r1 p1 comp holders=X,Y,Z => VALIDATION_ERROR holders
			anna begin r1 p1 holders=X,Y   => ok r1: A1 GA*1 until 15m for 140 k1 pending p1`,
		"IsForTheCustomerAndStaff": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			bert begin r1 p1               => NOT_FOUND
			anna begin r9 p9               => NOT_FOUND
			staff begin r1 p1              => ok r1: A1 until 15m for 100 k1 pending p1`,
		"ALiveHoldIsPaidAfterTheSale": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			bert place r2 A2               => ok r2: A2 until 15m for 100
			staff pause                    => ok
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			staff amend starts=5m          => ok
			at 6m
			bert begin r2 p2               => ok r2: A2 until 15m for 100 k2 pending p2
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			gate settle p2 ok              => ok r2 k2 confirmed p2 succeeded`,
		"NotWhenTheShowIsCancelled": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			staff cancel                   => ok
			anna begin r1 p1               => SHOW_NOT_ON_SALE cancelled
			staff confirm r1 p1 cash ref=7 => SHOW_NOT_ON_SALE cancelled`,
		"WhatIsBeingPaidStaysAsItIs": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna begin r1 p1               => ok r1: A1 A2 until 15m for 200 k1 pending p1
			anna change r1 +A3             => PAYMENT_IN_PROGRESS k1
			anna change r1 -A1             => PAYMENT_IN_PROGRESS k1
			staff change r1 -A1            => PAYMENT_IN_PROGRESS k1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			anna change r1 +B1 -A1         => ok r1: A2 B1 until 15m for 400
			book k1 pending 400 p1=failed:200
			anna begin r1 p1b              => ok r1: A2 B1 until 15m for 400 k1 pending p1b
			gate settle p1b ok amount=400  => ok r1 k1 confirmed p1b succeeded
			book k1 confirmed 400 p1=failed:200 p1b=succeeded:400 1=A2:valid:100 2=B1:valid:300`,
		"AZeroTotalNeedsNoGateway": `
			staff amend price=0            => ok
			anna place r1 A1 GA*1          => ok r1: A1 GA*1 until 15m for 0
			anna begin r1 p1               => ok r1 k1 confirmed
			  log 3.0 booking.created anna buyer r1 k1 >pending
			  log 3.1 reservation.consumed anna buyer r1 k1 active>consumed A1=b GA-1+1b until 15m
			  log 3.2 booking.confirmed anna buyer r1 k1 pending>confirmed
			  log 3.3 ticket.issued anna buyer r1 k1 k1.1 k1.2 >valid
			  tasks mail confirmation k1
			book k1 confirmed 0 1=A1:valid:0 2=GA:valid:0
			policy 100 0
			anna cancel k1                 => ok r1 k1 cancelled
			book k1 cancelled 0 1=A1:void:0 2=GA:void:0
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"AHoldThatCameToCostNothing": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			staff amend price=0            => ok
			anna change r1 +A2 -A1         => ok r1: A2 until 15m for 0
			anna begin r1 p1b              => ok r1 k1 confirmed
			book k1 confirmed 0 p1=failed:100 1=A2:valid:0
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded late refunded
			book k1 confirmed 0-100 p1=succeeded:100-100 1=A2:valid:0 p1/unapplied=pending:100`,
	})
}

// A gateway says what it says: twice, late, in any order.
func TestSettlePayment(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"FiveTimesIsOnce": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1 ok ref=g1       => ok r1 k1 confirmed p1 succeeded
			& gate settle p1 ok ref=g1     => ok r1 k1 confirmed p1 succeeded
			& gate settle p1 pending       => ok r1 k1 confirmed p1 succeeded
			gate settle p1 ok ref=g1       => ok r1 k1 confirmed p1 succeeded
			  log nothing
			  tasks nothing
			gate settle p1 failed          => ok r1 k1 confirmed p1 succeeded
			  log nothing
			gate settle p1 cancelled       => ok r1 k1 confirmed p1 succeeded
			book k1 confirmed 100 p1=succeeded:100 1=A1:valid:100`,
		"NeverGoesDownInTruth": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			gate settle p1 pending next=x  => ok r1 k1 pending p1 failed
			  log nothing
			gate settle p1 cancelled       => ok r1 k1 pending p1 failed
			  log nothing
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			gate settle p1 failed          => ok r1 k1 confirmed p1 succeeded
			  log nothing`,
		"AllOfItInOneBatch": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1 pending next=x  => ok r1 k1 pending p1 pending
			& gate settle p1 failed        => ok r1 k1 pending p1 failed
			& anna begin r1 p1b            => ok r1: A1 until 15m for 100 k1 pending p1b
			& gate settle p1b ok           => ok r1 k1 confirmed p1b succeeded
			& gate settle p1 ok            => ok r1 k1 confirmed p1 succeeded late refunded
			& gate settle p1 ok            => ok r1 k1 confirmed p1 succeeded
			book k1 confirmed 100-100 p1=succeeded:100-100 p1b=succeeded:100 1=A1:valid:100 p1/unapplied=pending:100`,
		"AFailureThatTurnsOutASuccess": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			at 14m59s
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			book k1 confirmed 100 p1=succeeded:100 1=A1:valid:100`,
		"OfTwoThatSucceedTheSecondGoesBackOnce": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1 cancelled       => ok r1 k1 pending p1 cancelled
			anna begin r1 p1b              => ok r1: A1 until 15m for 100 k1 pending p1b
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			  tasks mail confirmation k1; settle 0s; hurry p1b
			gate settle p1b ok             => ok r1 k1 confirmed p1b succeeded late refunded
			  log 6.0 payment.succeeded gate gateway r1 k1 p1b 100 pending>succeeded
			  log 6.1 refund.created gate late_payment r1 k1 p1b p1b/unapplied 100 >pending
			  tasks refund p1b/unapplied; mail refund k1
			gate settle p1b ok             => ok r1 k1 confirmed p1b succeeded
			  tasks nothing
			book k1 confirmed 100-100 p1=succeeded:100 p1b=succeeded:100-100 1=A1:valid:100 p1b/unapplied=pending:100`,
		"TheOneThatStaysOpenMayFail": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1 cancelled       => ok r1 k1 pending p1 cancelled
			anna begin r1 p1b              => ok r1: A1 until 15m for 100 k1 pending p1b
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			gate settle p1b failed         => ok r1 k1 confirmed p1b failed
			book k1 confirmed 100 p1=succeeded:100 p1b=failed:100 1=A1:valid:100`,
		"AnotherAmountIsNotBelieved": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1 ok amount=10000 ref=g1 => INTERNAL
			gate settle p1 ok amount=99 ref=g1    => INTERNAL
			book k1 pending 100 p1=pending:100
			gate settle p1 ok amount=100 ref=g1   => ok r1 k1 confirmed p1 succeeded`,
		"WhatNobodyKnowsIsNotFound": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			gate settle p1 ok              => NOT_FOUND
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1b ok             => NOT_FOUND
			gate settle p9 ok              => NOT_FOUND`,
		"PaidForWhatTheHoldWasOnce": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna begin r1 p1               => ok r1: A1 A2 until 15m for 200 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			anna change r1 -A2             => ok r1: A1 until 15m for 100
			gate settle p1 ok              => ok r1 k1 pending p1 succeeded late refunded
			  tasks refund p1/unapplied; mail refund k1
			book k1 pending 100-200 p1=succeeded:200-200 p1/unapplied=pending:200
			anna begin r1 p1b              => ok r1: A1 until 15m for 100 k1 pending p1b
			gate settle p1b ok             => ok r1 k1 confirmed p1b succeeded
			book k1 confirmed 100-200 p1=succeeded:200-200 p1b=succeeded:100 1=A1:valid:100 p1/unapplied=pending:200`,
		"AndTheHoldIsOver": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna begin r1 p1               => ok r1: A1 A2 until 15m for 200 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			anna change r1 -A2             => ok r1: A1 until 15m for 100
			anna begin r1 p1b              => ok r1: A1 until 15m for 100 k1 pending p1b
			at 15m
			gate settle p1 ok              => ok r1 k1 pending p1 succeeded late refunded
			gate settle p1b ok             => ok r1 k1 confirmed p1b succeeded late booked
			book k1 confirmed 100-200 p1=succeeded:200-200 p1b=succeeded:100 1=A1:valid:100 p1/unapplied=pending:200`,
		"AnAttemptWhoseIdIsOlderThanTheOneBefore": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1b              => ok r1: A1 until 15m for 100 k1 pending p1b
			gate settle p1b failed         => ok r1 k1 pending p1b failed
			& anna begin r1 p1             => ok r1: A1 until 15m for 100 k1 pending p1`,
		"SettledAndExpiredInOneBatch": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			at 2m
			system expire 9                => ok 1
			& gate settle p1 ok            => ok r1 k1 confirmed p1 succeeded late booked
			& system expire 9              => ok
			map baaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"FailedExpiredAndThenSucceededInOneBatch": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			at 1m30s
			gate settle p1 failed          => ok r1 k1 expired p1 failed
			& gate settle p1 ok            => ok r1 k1 confirmed p1 succeeded late booked
			map baaaaaaaaa GA 0+0/10 PIT 0+0/4`,
	})
}

// Giving up what is being paid: the money comes back should it be taken.
func TestAbandonedPayments(t *testing.T) {
	t.Parallel()
	scripts(t, map[string]string{
		"ReleasedWhilePaying": `
			anna place r1 A1 GA*2          => ok r1: A1 GA*2 until 15m for 180
			anna begin r1 p1               => ok r1: A1 GA*2 until 15m for 180 k1 pending p1
			at 1m
			anna release r1                => ok r1
			  log 3.0 reservation.cancelled anna buyer r1 active>cancelled A1=a GA-2 until 15m
			  log 3.1 booking.cancelled anna buyer r1 k1 pending>cancelled
			  tasks settle 1m; hurry p1
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4
			gate settle p1 ok              => ok r1 k1 cancelled p1 succeeded late refunded
			  tasks refund p1/unapplied; mail refund k1
			gate settle p1 ok              => ok r1 k1 cancelled p1 succeeded
			book k1 cancelled 180-180 p1=succeeded:180-180 p1/unapplied=pending:180`,
		"CancelledWhilePaying": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			anna cancel k1                 => ok r1 k1 cancelled p1
			  log 3.0 booking.cancelled anna buyer r1 k1 pending>cancelled
			  log 3.1 reservation.cancelled anna buyer r1 active>cancelled A1=a until 15m
			  tasks settle 0s; hurry p1
			bert place r2 A1               => ok r2: A1 until 15m for 100
			gate settle p1 ok              => ok r1 k1 cancelled p1 succeeded late refunded
			gate refund p1/unapplied ok    => ok p1/unapplied k1
			book k1 cancelled 100-100 p1=succeeded:100-100 p1/unapplied=succeeded:100`,
		"AndTheGatewayCancelsIt": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			anna cancel k1                 => ok r1 k1 cancelled p1
			& gate settle p1 cancelled     => ok r1 k1 cancelled p1 cancelled
			book k1 cancelled 100 p1=cancelled:100`,
		"CancelledBetweenAttempts": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			anna cancel k1                 => ok r1 k1 cancelled
			  tasks nothing
			gate settle p1 ok              => ok r1 k1 cancelled p1 succeeded late refunded`,
	})
}

// Money that comes after the hold's end buys the same places if they can be
// had, all of them, and goes back once otherwise.
func TestLatePayments(t *testing.T) {
	t.Parallel()
	const late = `
			anna place r1 A1 GA*2 ttl=60   => ok r1: A1 GA*2 until 1m for 180
			anna begin r1 p1               => ok r1: A1 GA*2 until 2m for 180 k1 pending p1
			at 2m
	`
	const booked, refunded = `
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded late booked
	`, `
			gate settle p1 ok              => ok r1 k1 failed p1 succeeded late refunded
			  tasks refund p1/unapplied; mail refund k1
			gate settle p1 ok              => ok r1 k1 failed p1 succeeded
			  log nothing
			book k1 failed 180-180 p1=succeeded:180-180 p1/unapplied=pending:180
	`
	scripts(t, map[string]string{
		"StillWrittenDownAsIts": late + `
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded late booked
			  log 3.0 payment.succeeded gate gateway r1 k1 p1 180 pending>succeeded
			  log 3.1 reservation.consumed gate late_payment r1 k1 active>consumed A1=b GA-2+2b until 2m
			  log 3.2 booking.confirmed gate late_payment r1 k1 pending>confirmed
			  log 3.3 ticket.issued gate late_payment r1 k1 k1.1 k1.2 k1.3 >valid
			map baaaaaaaaa GA 0+2/10 PIT 0+0/4`,
		"FreeAgain": late + `
			system expire 9                => ok 1
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded late booked
			  log 4.0 payment.succeeded gate gateway r1 k1 p1 180 pending>succeeded
			  log 4.1 reservation.consumed gate late_payment r1 k1 expired>consumed A1=b GA+0+2b until 2m
			  log 4.2 booking.confirmed gate late_payment r1 k1 pending>confirmed
			  log 4.3 ticket.issued gate late_payment r1 k1 k1.1 k1.2 k1.3 >valid
			map baaaaaaaaa GA 0+2/10 PIT 0+0/4`,
		"OfABookingThatHadExpired": late + `
			gate settle p1 failed          => ok r1 k1 expired p1 failed
			at 10m` + booked + `
			book k1 confirmed 180 p1=succeeded:180 1=A1:valid:100 2=GA:valid:40 3=GA:valid:40`,
		"ASeatIsAnothers": late + `
			bert place r2 A1               => ok r2: A1 until 17m for 100` + refunded,
		"ASeatIsBooked": late + `
			bert place r2 A1               => ok r2: A1 until 17m for 100
			staff confirm r2 p2 cash ref=7 => ok r2 k2 confirmed p2` + refunded,
		"ASeatIsBlocked": late + `
			staff block b1 A1              => ok b1 1` + refunded,
		"ASeatIsTheCustomersOwnOtherHold": late + `
			anna place r2 A1               => ok r2: A1 until 17m for 100` + refunded,
		"AnOverdueHoldOfAnotherIsClosedFirst": late + `
			bert place r2 A1 A2 ttl=1      => ok r2: A1 A2 until 2m1s for 200
			bert begin r2 p2               => ok r2: A1 A2 until 4m for 200 k2 pending p2
			at 4m
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded late booked
			  log 5.0 payment.succeeded gate gateway r1 k1 p1 180 pending>succeeded
			  log 5.1 reservation.expired system expired r2 active>expired A1=a A2=a until 4m
			  log 5.2 reservation.consumed gate late_payment r1 k1 expired>consumed A1=b GA+0+2b until 2m
			  log 5.3 booking.confirmed gate late_payment r1 k1 pending>confirmed
			  log 5.4 ticket.issued gate late_payment r1 k1 k1.1 k1.2 k1.3 >valid
			book k2 pending 200 p2=pending:200
			gate settle p2 ok              => ok r2 k2 failed p2 succeeded late refunded`,
		"AndItsBookingWithIt": late + `
			bert place r2 A1 ttl=1         => ok r2: A1 until 2m1s for 100
			bert begin r2 p2               => ok r2: A1 until 4m for 100 k2 pending p2
			gate settle p2 failed          => ok r2 k2 pending p2 failed
			at 4m` + booked + `
			book k2 expired 100 p2=failed:100`,
		"OfTwoForOneSeatTheFirstToBePaidHasIt": late + `
			bert place r2 A1 ttl=1         => ok r2: A1 until 2m1s for 100
			bert begin r2 p2               => ok r2: A1 until 4m for 100 k2 pending p2
			at 5m
			gate settle p2 ok              => ok r2 k2 confirmed p2 succeeded late booked
			& gate settle p1 ok            => ok r1 k1 failed p1 succeeded late refunded
			map baaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"UnitsAreShort": late + `
			staff place r2 GA*9            => ok r2: GA*9 until 17m for 360` + refunded + `
			map aaaaaaaaaa GA 9+0/10 PIT 0+0/4`,
		"UnitsOfOverdueHoldsWillDo": `
			staff place r2 GA*8 ttl=90     => ok r2: GA*8 until 1m30s for 320
			anna place r1 A1 GA*1 GA*1:child ttl=60 => ok r1: A1 GA*1:child GA*1 until 1m for 160
			anna begin r1 p1               => ok r1: A1 GA*1:child GA*1 until 2m for 160 k1 pending p1
			at 3m
			staff place r3 GA*9            => ok r3: GA*9 until 18m for 360
			& staff release r3             => ok r3
			staff place r4 GA*9 ttl=1      => ok r4: GA*9 until 3m1s for 360
			at 4m` + booked + `
			map baaaaaaaaa GA 0+2/10 PIT 0+0/4`,
		"ItsOwnUnitsAreNotCountedTwice": `
			staff place r1 GA*10 for=anna  => ok r1: GA*10 until 15m for 400
			anna begin r1 p1               => ok r1: GA*10 until 15m for 400 k1 pending p1
			at 20m` + booked + `
			map aaaaaaaaaa GA 0+10/10 PIT 0+0/4`,
		"TheAreaHasBecomeSmaller": late + `
			staff capacity GA 1            => ok` + refunded,
		"TheCustomerHasOthersByNow": `
			staff amend perCustomer=3      => ok` + late + `
			anna place r2 A2               => ok r2: A2 until 17m for 100
			& gate settle p1 ok            => ok r1 k1 failed p1 succeeded late refunded`,
		"TheCustomerHasNoOthersAnyMore": `
			staff amend perCustomer=3      => ok` + late + `
			anna place r2 A2 ttl=1         => ok r2: A2 until 2m1s for 100
			& gate settle p1 failed        => ok r1 k1 expired p1 failed
			at 1h
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded late booked`,
		"AHoldThatStaffMadeIsNotHeldToTheLimit": `
			staff amend perCustomer=1      => ok
			staff place r1 A1 GA*2 ttl=60 for=anna => ok r1: A1 GA*2 until 1m for 180
			anna begin r1 p1               => ok r1: A1 GA*2 until 2m for 180 k1 pending p1
			at 2m` + booked,
		"TheShowIsPaused": late + `
			staff pause                    => ok` + booked,
		"SalesHaveEnded": late + `
			staff amend starts=90s         => ok` + booked,
		"TheShowIsCancelled": late + `
			staff cancel                   => ok` + refunded,
		"TheShowIsCancelledAndTheHoldAlive": `
			anna place r1 A1 GA*2          => ok r1: A1 GA*2 until 15m for 180
			anna begin r1 p1               => ok r1: A1 GA*2 until 15m for 180 k1 pending p1
			staff cancel                   => ok
			  tasks cancel_show` + refunded + `
			hold r1 cancelled until 15m
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"TheSeatIsNotInThePlanAnyMore": `
			anna place r1 A7 ttl=60        => ok r1: A7 until 1m for 100
			anna begin r1 p1               => ok r1: A7 until 2m for 100 k1 pending p1
			bert place r2 PIT*1 ttl=60     => ok r2: PIT*1 until 1m for 40
			bert begin r2 p2               => ok r2: PIT*1 until 2m for 40 k2 pending p2
			at 2m
			staff amend plan=small         => ok
			& gate settle p1 ok            => ok r1 k1 failed p1 succeeded late refunded
			gate settle p2 ok              => ok r2 k2 failed p2 succeeded late refunded
			map aaaaaaaa GA 0+0/5`,
		"AndBackInIt": `
			anna place r1 A7 ttl=60        => ok r1: A7 until 1m for 100
			anna begin r1 p1               => ok r1: A7 until 2m for 100 k1 pending p1
			at 2m
			staff amend plan=small         => ok
			& staff amend plan=big         => ok
			& gate settle p1 ok            => ok r1 k1 confirmed p1 succeeded late booked
			map aaaaaabaaaaa GA 0+0/12 PIT 0+0/4 BAR 0+0/3`,
		"SoldFromABlock": `
			staff block b1 A1 A2           => ok b1 2
			staff place r1 A1 from=b1 for=anna ttl=60 => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			at 2m
			system expire 9                => ok 1
			map xxaaaaaaaa GA 0+0/10 PIT 0+0/4` + booked + `
			map bxaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"AndBlockedAnewMeanwhile": `
			staff block b1 A1 A2           => ok b1 2
			staff place r1 A1 from=b1 for=anna ttl=60 => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			at 2m
			staff unblock b1               => ok b1 2
			staff block b2 A1              => ok b2 1
			gate settle p1 ok              => ok r1 k1 failed p1 succeeded late refunded`,
		"ASecondAttemptIsStillOpen": `
			staff amend perCustomer=1      => ok
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			at 30s
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			anna begin r1 p1b              => ok r1: A1 until 1m for 100 k1 pending p1b
			at 1m
			anna place r2 A2               => ok r2: A2 until 16m for 100
			gate settle p1 ok              => ok r1 k1 pending p1 succeeded late refunded
			& system expire 9              => ok 1
			gate settle p1b failed         => ok r1 k1 expired p1b failed
			book k1 expired 100-100 p1=succeeded:100-100 p1b=failed:100 p1/unapplied=pending:100`,
		"WhatHadEndedUnpaidHadExpired": late + `
			gate settle p1 failed          => ok r1 k1 expired p1 failed
			bert place r2 A1               => ok r2: A1 until 17m for 100
			gate settle p1 ok              => ok r1 k1 expired p1 succeeded late refunded
			book k1 expired 180-180 p1=succeeded:180-180 p1/unapplied=pending:180`,
		"ThoughNothingHadTidiedItUp": `
			anna place r1 A1 GA*2          => ok r1: A1 GA*2 until 15m for 180
			anna begin r1 p1               => ok r1: A1 GA*2 until 15m for 180 k1 pending p1
			gate settle p1 failed          => ok r1 k1 pending p1 failed
			staff amend perCustomer=3      => ok
			at 15m
			anna place r2 A2               => ok r2: A2 until 30m for 100
			gate settle p1 ok              => ok r1 k1 expired p1 succeeded late refunded
			  log 6.0 payment.succeeded gate gateway r1 k1 p1 180 failed>succeeded
			  log 6.1 refund.created gate late_payment r1 k1 p1 p1/unapplied 180 >pending
			  log 6.2 reservation.expired system expired r1 active>expired A1=a GA-2 until 15m
			  log 6.3 booking.expired system expired r1 k1 pending>expired`,
	})
}

// Refunds are rows first; then gateways say what became of them.
func TestRefunds(t *testing.T) {
	t.Parallel()
	const bought = `
			policy 100 0
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna begin r1 p1               => ok r1: A1 A2 until 15m for 200 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			anna cancel k1 1               => ok r1 k1 confirmed
	`
	scripts(t, map[string]string{
		"Succeed": bought + `
			gate refund p1/cancel:1 pending ref=re1 => ok p1/cancel:1 k1
			  log nothing
			gate refund p1/cancel:1 ok ref=re1      => ok p1/cancel:1 k1
			  log 5.0 refund.succeeded gate buyer r1 k1 p1 p1/cancel:1 k1.1 100 pending>succeeded
			gate refund p1/cancel:1 ok ref=re1      => ok p1/cancel:1 k1
			  log nothing
			gate refund p1/cancel:1 pending ref=re1 => ok p1/cancel:1 k1
			  log nothing
			book k1 confirmed 200-100 p1=succeeded:200-100 1=A1:void:100-100 2=A2:valid:100 p1/cancel:1=succeeded:100`,
		"FailAndAreSentAgain": bought + `
			gate refund p1/cancel:1 failed ref=re1 why=closed => ok p1/cancel:1 k1
			  log 5.0 refund.failed gate buyer r1 k1 p1 p1/cancel:1 k1.1 100 pending>failed
			  tasks nothing
			book k1 confirmed 200 p1=succeeded:200 1=A1:void:100 2=A2:valid:100 p1/cancel:1=failed:100
			staff retry p1/cancel:1                 => ok p1/cancel:1 k1
			  log 6.0 refund.created staff buyer r1 k1 p1 p1/cancel:1 k1.1 100 failed>pending
			  tasks refund p1/cancel:1
			book k1 confirmed 200-100 p1=succeeded:200-100 1=A1:void:100-100 2=A2:valid:100 p1/cancel:1=pending:100
			staff retry p1/cancel:1                 => ALREADY_REFUNDED
			gate refund p1/cancel:1 ok ref=re2      => ok p1/cancel:1 k1
			book k1 confirmed 200-100 p1=succeeded:200-100 1=A1:void:100-100 2=A2:valid:100 p1/cancel:1=succeeded:100
			staff retry p1/cancel:1                 => ALREADY_REFUNDED`,
		"TheOldAttemptToldAgainIsIgnored": bought + `
			gate refund p1/cancel:1 failed ref=re1  => ok p1/cancel:1 k1
			staff retry p1/cancel:1                 => ok p1/cancel:1 k1
			gate refund p1/cancel:1 failed ref=re1  => ok p1/cancel:1 k1
			  log nothing
			gate refund p1/cancel:1 pending ref=re1 => ok p1/cancel:1 k1
			gate refund p1/cancel:1 failed ref=re1  => ok p1/cancel:1 k1
			  log nothing
			gate refund p1/cancel:1 pending ref=re2 => ok p1/cancel:1 k1
			gate refund p1/cancel:1 failed ref=re1  => ok p1/cancel:1 k1
			  log nothing
			gate refund p1/cancel:1 failed ref=re2  => ok p1/cancel:1 k1
			book k1 confirmed 200 p1=succeeded:200 1=A1:void:100 2=A2:valid:100 p1/cancel:1=failed:100
			staff retry p1/cancel:1                 => ok p1/cancel:1 k1
			gate refund p1/cancel:1 ok ref=re3      => ok p1/cancel:1 k1
			gate refund p1/cancel:1 failed ref=re2  => ok p1/cancel:1 k1
			  log nothing`,
		"PeopleGaveItBackInAnotherWay": bought + `
			staff retry p1/cancel:1 paid=iban => ALREADY_REFUNDED
			gate refund p1/cancel:1 failed ref=re1 => ok p1/cancel:1 k1
			staff retry p1/cancel:1 paid=iban => ok p1/cancel:1 k1
			  log 6.0 refund.succeeded staff buyer r1 k1 p1 p1/cancel:1 k1.1 100 failed>succeeded
			  tasks nothing
			gate refund p1/cancel:1 failed ref=re1 => ok p1/cancel:1 k1
			  log nothing
			staff retry p1/cancel:1 paid=iban => ALREADY_REFUNDED
			book k1 confirmed 200-100 p1=succeeded:200-100 1=A1:void:100-100 2=A2:valid:100 p1/cancel:1=succeeded:100`,
		"RefusedOutrightTwice": bought + `
			gate refund p1/cancel:1 failed why=no   => ok p1/cancel:1 k1
			staff retry p1/cancel:1                 => ok p1/cancel:1 k1
			gate refund p1/cancel:1 failed why=no   => ok p1/cancel:1 k1
			book k1 confirmed 200 p1=succeeded:200 1=A1:void:100 2=A2:valid:100 p1/cancel:1=failed:100`,
		"TheBankSendsItBack": bought + `
			gate refund p1/cancel:1 ok ref=re1      => ok p1/cancel:1 k1
			gate refund p1/cancel:1 failed ref=re1  => ok p1/cancel:1 k1
			  log 6.0 refund.failed gate buyer r1 k1 p1 p1/cancel:1 k1.1 100 succeeded>failed
			gate refund p1/cancel:1 ok ref=re1      => ok p1/cancel:1 k1
			  log nothing
			book k1 confirmed 200 p1=succeeded:200 1=A1:void:100 2=A2:valid:100 p1/cancel:1=failed:100`,
		"NotMoreThanWasPaid": bought + `
			gate refund p1/cancel:1 failed ref=re1  => ok p1/cancel:1 k1
			gate desk p1 ok amount=150 ref=d1       => ok r1 k1 p1
			staff retry p1/cancel:1                 => ALREADY_REFUNDED
			gate refund p1/cancel:1 ok ref=re9      => ok p1/cancel:1 k1
			gate refund p1/cancel:1 ok ref=re1      => ok p1/cancel:1 k1
			  log nothing
			book k1 confirmed 200-150 p1=succeeded:200-150 1=A1:void:100-50 2=A2:valid:100-100 p1/cancel:1=failed:100 p1/gateway:d1=succeeded:150`,
		"NotMoreThanATicketCost": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna begin r1 p1               => ok r1: A1 A2 until 15m for 200 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			staff giveback k1 1 cause=x    => ok p1/x k1
			gate refund p1/x failed        => ok p1/x k1
			staff giveback k1 1 cause=y    => ok p1/y k1
			gate refund p1/x ok ref=re1    => CONFLICT
			staff retry p1/x               => ALREADY_REFUNDED
			book k1 confirmed 200-100 p1=succeeded:200-100 1=A1:valid:100-100 2=A2:valid:100 p1/x=failed:100 p1/y=pending:100`,
		"WhatNobodyKnowsIsNotFound": bought + `
			gate refund p1/cancel:2 ok     => NOT_FOUND
			gate refund p9/cancel:1 ok     => NOT_FOUND
			staff retry p1/cancel:2        => NOT_FOUND`,
		"MoneyThatPeopleTookIsGivenBackByPeople": `
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			staff confirm r1 p1 terminal ref=7 => ok r1 k1 confirmed p1
			staff cancel k1 1 override     => ok r1 k1 confirmed
			  log 3.0 ticket.void staff staff r1 k1 k1.1 valid>void A1=a
			  log 3.1 refund.succeeded staff staff r1 k1 p1 p1/cancel:1 k1.1 100 >succeeded
			  tasks mail cancellation k1 of [1] p1/cancel:1
			book k1 confirmed 200-100 p1=succeeded:200-100 1=A1:void:100-100 2=A2:valid:100 p1/cancel:1=succeeded:100`,
	})
}

// Money for tickets that stay valid.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	const bought = `
			policy 100 0
			anna place r1 A1 B1 GA*1       => ok r1: A1 B1 GA*1 until 15m for 440
			anna begin r1 p1               => ok r1: A1 B1 GA*1 until 15m for 440 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
	`
	scripts(t, map[string]string{
		"InProportionToThePrices": bought + `
			staff giveback k1 amount=100   => ok p1/given k1
			  log 4.0 refund.created staff staff r1 k1 p1 p1/given k1.1 k1.2 k1.3 100 >pending
			  tasks refund p1/given; mail refund k1
			book k1 confirmed 440-100 p1=succeeded:440-100 1=A1:valid:100-23 2=B1:valid:300-68 3=GA:valid:40-9 p1/given=pending:100`,
		"OfOneTicket": bought + `
			staff giveback k1 2 amount=50  => ok p1/given k1
			staff giveback k1 2 amount=251 cause=more => VALIDATION_ERROR amount
			staff giveback k1 2 cause=more => ok p1/more k1
			staff giveback k1 2 cause=most => ALREADY_REFUNDED
			book k1 confirmed 440-300 p1=succeeded:440-300 1=A1:valid:100 2=B1:valid:300-300 3=GA:valid:40 p1/given=pending:50 p1/more=pending:250`,
		"TheSameCauseIsOneRefund": bought + `
			staff giveback k1 amount=100 cause=x => ok p1/x k1
			& staff giveback k1 amount=100 cause=x => ok p1/x k1
			staff giveback k1 amount=90 cause=x => ok p1/x k1
			  log nothing
			book k1 confirmed 440-100 p1=succeeded:440-100 1=A1:valid:100-23 2=B1:valid:300-68 3=GA:valid:40-9 p1/x=pending:100`,
		"ThenTheRestOnCancelling": bought + `
			staff giveback k1 amount=100   => ok p1/given k1
			anna cancel k1                 => ok r1 k1 cancelled
			book k1 cancelled 440-440 p1=succeeded:440-440 1=A1:void:100-100 2=B1:void:300-300 3=GA:void:40-40 p1/cancel:1,2,3=pending:340 p1/given=pending:100
			staff giveback k1 cause=z      => ALREADY_REFUNDED`,
		"TicketsMustBeOfTheBooking": bought + `
			staff giveback k1 9            => VALIDATION_ERROR ticketIds[0]
			staff giveback k1 1 1          => VALIDATION_ERROR ticketIds[1]
			staff giveback k9              => NOT_FOUND`,
	})
}

// What the gateway's own desk does, or the buyer's bank.
func TestRecordRefund(t *testing.T) {
	t.Parallel()
	const bought = `
			policy 50 0
			anna place r1 A1 B1 GA*1       => ok r1: A1 B1 GA*1 until 15m for 440
			anna begin r1 p1               => ok r1: A1 B1 GA*1 until 15m for 440 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
	`
	scripts(t, map[string]string{
		"PartOfIt": bought + `
			gate desk p1 ok amount=44 ref=d1 => ok r1 k1 p1
			  log 4.0 refund.succeeded gate gateway r1 k1 p1 p1/gateway:d1 k1.1 k1.2 k1.3 44 >succeeded
			  tasks nothing
			gate desk p1 ok amount=44 ref=d1 => ok r1 k1 p1
			  log nothing
			book k1 confirmed 440-44 p1=succeeded:440-44 1=A1:valid:100-10 2=B1:valid:300-30 3=GA:valid:40-4 p1/gateway:d1=succeeded:44`,
		"AllOfItVoidsTheTickets": bought + `
			door scan k1.1 s1              => ok k1.1 k1 admitted
			gate desk p1 ok amount=440 ref=d1 dispute => ok r1 k1 p1
			  log 5.0 refund.succeeded gate gateway r1 k1 p1 p1/dispute:d1 k1.1 k1.2 k1.3 440 >succeeded
			  log 5.1 ticket.void gate gateway r1 k1 k1.1 k1.2 k1.3 >void A1=a B1=a GA+0-1b
			  log 5.2 booking.cancelled gate gateway r1 k1 confirmed>cancelled
			  tasks mail cancellation k1 of [1 2 3] p1/dispute:d1
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4
			book k1 cancelled 440-440 p1=succeeded:440-440 1=A1:void:100-100 2=B1:void:300-300 3=GA:void:40-40 p1/dispute:d1=succeeded:440`,
		"InTwoParts": bought + `
			gate desk p1 ok amount=400 ref=d1 => ok r1 k1 p1
			gate desk p1 ok amount=40 ref=d2  => ok r1 k1 p1
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"TheFeeThatWasKeptToo": bought + `
			anna cancel k1 2               => ok r1 k1 confirmed
			gate desk p1 ok amount=200 ref=d1 => ok r1 k1 p1
			book k1 confirmed 440-350 p1=succeeded:440-350 1=A1:valid:100-100 2=B1:void:300-210 3=GA:valid:40-40 p1/cancel:2=pending:150 p1/gateway:d1=succeeded:200
			gate desk p1 ok amount=90 ref=d2 => ok r1 k1 p1
			book k1 cancelled 440-440 p1=succeeded:440-440 1=A1:void:100-100 2=B1:void:300-300 3=GA:void:40-40 p1/cancel:2=pending:150 p1/gateway:d1=succeeded:200 p1/gateway:d2=succeeded:90`,
		"OfABookingThatIsCancelled": bought + `
			anna cancel k1                 => ok r1 k1 cancelled
			gate desk p1 ok amount=220 ref=d1 => ok r1 k1 p1
			book k1 cancelled 440-440 p1=succeeded:440-440 1=A1:void:100-100 2=B1:void:300-300 3=GA:void:40-40 p1/cancel:1,2,3=pending:220 p1/gateway:d1=succeeded:220`,
		"WhatIsUnderWayAnyway": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			anna cancel k1                 => ok r1 k1 cancelled p1
			gate settle p1 ok              => ok r1 k1 cancelled p1 succeeded late refunded
			gate desk p1 ok amount=100 ref=d1 => CONFLICT
			book k1 cancelled 100-100 p1=succeeded:100-100 p1/unapplied=pending:100
			gate refund p1/unapplied pending ref=d1 => ok p1/unapplied k1
			gate desk p1 ok amount=100 ref=d1 => ok r1 k1 p1
			book k1 cancelled 100-100 p1=succeeded:100-100 p1/unapplied=succeeded:100`,
		"BeforeOurs": `
			anna place r1 A1               => ok r1: A1 until 15m for 100
			anna begin r1 p1               => ok r1: A1 until 15m for 100 k1 pending p1
			anna cancel k1                 => ok r1 k1 cancelled p1
			gate settle p1 ok              => ok r1 k1 cancelled p1 succeeded late refunded
			gate desk p1 ok amount=60 ref=d1 => CONFLICT
			gate refund p1/unapplied failed => ok p1/unapplied k1
			gate desk p1 ok amount=60 ref=d1 => ok r1 k1 p1
			book k1 cancelled 100-60 p1=succeeded:100-60 p1/gateway:d1=succeeded:60 p1/unapplied=failed:100`,
		"OfAPaymentThatWasNeverHeardOf": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			gate desk p1 ok amount=100 ref=d1 => ok r1 k1 p1
			  log 3.0 payment.succeeded gate gateway r1 k1 p1 100 pending>succeeded
			  log 3.1 refund.succeeded gate gateway r1 k1 p1 p1/gateway:d1 100 >succeeded
			  log 3.2 reservation.extended gate payment_failed r1 A1=h until 1m
			hold r1 active until 1m own 1m
			gate settle p1 ok              => ok r1 k1 pending p1 succeeded
			anna begin r1 p1b              => ok r1: A1 until 1m for 100 k1 pending p1b
			gate settle p1b ok             => ok r1 k1 confirmed p1b succeeded
			book k1 confirmed 100-100 p1=succeeded:100-100 p1b=succeeded:100 1=A1:valid:100 p1/gateway:d1=succeeded:100`,
		"AndOfOneThatWouldHaveBeenLate": `
			anna place r1 A1 ttl=60        => ok r1: A1 until 1m for 100
			anna begin r1 p1               => ok r1: A1 until 2m for 100 k1 pending p1
			at 2m
			system expire 9                => ok 1
			gate desk p1 ok amount=100 ref=d1 => ok r1 k1 p1
			book k1 expired 100-100 p1=succeeded:100-100 p1/gateway:d1=succeeded:100
			map aaaaaaaaaa GA 0+0/10 PIT 0+0/4`,
		"NothingCameOfIt": bought + `
			gate desk p1 failed amount=44 ref=d1 => ok r1 k1 p1
			  log nothing
			book k1 confirmed 440 p1=succeeded:440 1=A1:valid:100 2=B1:valid:300 3=GA:valid:40`,
		"ADisputeIsWon": bought + `
			gate desk p1 ok amount=440 ref=d1 dispute => ok r1 k1 p1
			gate desk p1 failed amount=440 ref=d1 dispute => ok r1 k1 p1
			  log 5.0 refund.failed gate gateway r1 k1 p1 p1/dispute:d1 k1.1 k1.2 k1.3 440 succeeded>failed
			book k1 cancelled 440 p1=succeeded:440 1=A1:void:100 2=B1:void:300 3=GA:void:40 p1/dispute:d1=failed:440
			gate desk p1 ok amount=440 ref=d1 dispute => ok r1 k1 p1
			book k1 cancelled 440-440 p1=succeeded:440-440 1=A1:void:100-100 2=B1:void:300-300 3=GA:void:40-40 p1/dispute:d1=succeeded:440`,
		"WhatNobodyKnowsIsNotFound": bought + `
			gate desk p1b ok amount=44 ref=d1 => NOT_FOUND
			gate desk p9 ok amount=44 ref=d1  => NOT_FOUND`,
	})
}
