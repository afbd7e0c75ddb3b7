package boxoffice

import "testing"

func TestCheckIn(t *testing.T) {
	t.Parallel()
	const bought = `
			policy 100 0
			anna place r1 A1 A2            => ok r1: A1 A2 until 15m for 200
			anna begin r1 p1               => ok r1: A1 A2 until 15m for 200 k1 pending p1
			gate settle p1 ok              => ok r1 k1 confirmed p1 succeeded
			at 1h
	`
	scripts(t, map[string]string{
		"Once": bought + `
			door scan k1.1 s1 gate=A       => ok k1.1 k1 admitted
			  log 4.0 ticket.used door staff r1 k1 k1.1 valid>used
			at 61m
			door scan k1.1 s2 gate=B       => ok k1.1 k1 already_used first 1h A
			  log nothing
			door scan k1.2 s3 gate=B       => ok k1.2 k1 admitted
			book k1 confirmed 200 p1=succeeded:200 1=A1:used:100 2=A2:used:100`,
		"AtTwoGatesAtOnce": bought + `
			door scan k1.1 s1 gate=A       => ok k1.1 k1 admitted
			& door scan k1.1 s2 gate=B     => ok k1.1 k1 already_used first 1h A
			& door scan k1.1 s1 gate=A     => ok k1.1 k1 admitted`,
		"TheSameScanAgainIsAnsweredTheSame": bought + `
			door scan k1.1 s1 gate=A       => ok k1.1 k1 admitted
			at 2h
			door scan k1.1 s1 gate=A       => ok k1.1 k1 admitted
			  log nothing
			door scan k1.1 s2 gate=B       => ok k1.1 k1 already_used first 1h A
			staff cancel k1 override       => ok r1 k1 cancelled
			door scan k1.1 s1 gate=A       => ok k1.1 k1 admitted
			door scan k1.1 s2 gate=B       => ok k1.1 k1 already_used first 1h A`,
		"AScanIsOfOneTicket": bought + `
			door scan k1.1 s1              => ok k1.1 k1 admitted
			door scan k1.2 s1              => VALIDATION_ERROR scanId
			& door scan k1.2 s2            => ok k1.2 k1 admitted`,
		"WhatNobodyKnowsIsNotFound": bought + `
			door scan k1.9 s1              => NOT_FOUND
			door scan k9.1 s1              => NOT_FOUND`,
		"VoidWinsOverUsed": bought + `
			door scan k1.1 s1              => ok k1.1 k1 admitted
			staff cancel k1 1 override     => ok r1 k1 confirmed
			& door scan k1.1 s2            => ok k1.1 k1 void
			door scan k1.1 s3              => ok k1.1 k1 void
			book k1 confirmed 200-100 p1=succeeded:200-100 1=A1:void:100-100 2=A2:valid:100 p1/cancel:1=pending:100`,
		"VoidBeforeItWasUsed": bought + `
			anna cancel k1 1               => ok r1 k1 confirmed
			door scan k1.1 s1              => ok k1.1 k1 void
			  log nothing`,
		"ReadWithoutALine": bought + `
			at 3h
			door scan k1.1 s1 gate=A at=2h => ok k1.1 k1 admitted
			door scan k1.1 s2 gate=B       => ok k1.1 k1 already_used first 2h A`,
		"ReadWithoutALineAfterItWasUsed": bought + `
			door scan k1.1 s1 gate=A       => ok k1.1 k1 admitted
			at 3h
			door scan k1.1 s2 gate=B at=2h => ok k1.1 k1 already_used in wrongly first 1h A
			  log nothing`,
		"ReadWithoutALineBeforeItWasUsed": bought + `
			at 3h
			door scan k1.1 s1 gate=A       => ok k1.1 k1 admitted
			at 4h
			door scan k1.1 s2 gate=B at=2h => ok k1.1 k1 admitted
			  log nothing
			door scan k1.1 s1 gate=A       => ok k1.1 k1 admitted wrongly first 2h B
			door scan k1.1 s3 gate=C       => ok k1.1 k1 already_used first 2h B
			door scan k1.1 s4 gate=C at=90m => ok k1.1 k1 admitted
			door scan k1.1 s2 gate=B at=2h => ok k1.1 k1 admitted wrongly first 1h30m C`,
		"AndInTheSameBatch": bought + `
			at 3h
			door scan k1.1 s1 gate=A       => ok k1.1 k1 admitted
			& door scan k1.1 s2 gate=B at=2h => ok k1.1 k1 admitted
			& door scan k1.1 s3 gate=C at=1h => ok k1.1 k1 admitted
			& door scan k1.1 s4 gate=D at=2h => ok k1.1 k1 already_used in wrongly first 1h C
			door scan k1.1 s1              => ok k1.1 k1 admitted wrongly first 2h B
			door scan k1.1 s2              => ok k1.1 k1 admitted wrongly first 1h C`,
		"ReadWithoutALineAfterItWasVoid": bought + `
			anna cancel k1 1               => ok r1 k1 confirmed
			at 3h
			door scan k1.1 s1 at=2h        => ok k1.1 k1 void in wrongly
			door scan k1.1 s2 at=1h        => ok k1.1 k1 void in wrongly`,
		"ReadWithoutALineBeforeItWasVoid": bought + `
			at 2h
			anna cancel k1 1               => ok r1 k1 confirmed
			at 3h
			door scan k1.1 s1 gate=A at=90m => ok k1.1 k1 admitted
			  log nothing
			door scan k1.1 s2 gate=B at=95m => ok k1.1 k1 already_used in wrongly first 1h30m A
			door scan k1.1 s3 gate=C at=70m => ok k1.1 k1 admitted
			door scan k1.1 s4              => ok k1.1 k1 void
			book k1 confirmed 200-100 p1=succeeded:200-100 1=A1:void:100-100 2=A2:valid:100 p1/cancel:1=pending:100`,
		"ADeviceWhoseClockIsAheadReadsNow": bought + `
			door scan k1.1 s1 gate=A at=5h => ok k1.1 k1 admitted
			at 2h
			door scan k1.1 s2              => ok k1.1 k1 already_used first 1h A`,
		"CancelledAndReadInOneBatch": bought + `
			anna cancel k1 1               => ok r1 k1 confirmed
			& door scan k1.1 s1            => ok k1.1 k1 void
			& door scan k1.1 s2 at=59m     => ok k1.1 k1 admitted
			& door scan k1.2 s3            => ok k1.2 k1 admitted
			& anna cancel k1               => BOOKING_NOT_CANCELLABLE`,
		"ReadAndCancelledInOneBatch": bought + `
			door scan k1.1 s1              => ok k1.1 k1 admitted
			& anna cancel k1               => BOOKING_NOT_CANCELLABLE
			& anna cancel k1 2             => ok r1 k1 confirmed
			& door scan k1.2 s2            => ok k1.2 k1 void`,
	})
}
