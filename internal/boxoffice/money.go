package boxoffice

import (
	"strconv"
	"strings"
)

// exponents are the currencies whose minor unit is not a hundredth, by ISO
// 4217. (CLDR, which libraries format by, has others: digits that people
// write, not units that banks count.)
var exponents = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0,
	"UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

// Exponent is how many decimal digits the minor unit of an ISO 4217 currency
// is: JPY 0, EUR 2, KWD 3.
func Exponent(currency string) int {
	if n, ok := exponents[currency]; ok {
		return n
	}
	return 2
}

// Decimal writes an amount in the minor unit as a decimal number of the
// currency: 1234 is 12.34 in EUR, 1.234 in KWD and 1234 in JPY.
func Decimal(amountMinor int64, currency string) string {
	n := Exponent(currency)
	digits := strconv.FormatInt(amountMinor, 10)
	if n == 0 {
		return digits
	}
	sign := ""
	if amountMinor < 0 {
		sign, digits = "-", digits[1:]
	}
	if short := n + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	return sign + digits[:len(digits)-n] + "." + digits[len(digits)-n:]
}
