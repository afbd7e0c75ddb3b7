package tickets

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// Labels are the words of the sheet that are not the caller's, in a language.
type Labels struct {
	Admit      string // along the edge: what the ticket is good for
	Section    string
	Row        string
	Seat       string
	Area       string
	Holder     string
	TicketType string
	Price      string
	Doors      string // before the time at which the doors open
	Reference  string // of the booking
	Ticket     string // with two %d: which of how many
	Note       string // the small print

	Decimal  string // between units and their fractions
	Thousand string // between groups of three digits

	// Date writes the day of a show, with its weekday.
	Date func(time.Time) string
}

// English, German and Arabic are the languages that come along. Times are
// written 19:30 in all of them, and digits as 0 to 9: they are compared with
// what stands on seats and doors.
var (
	English = Labels{
		Admit: "Admit one", Section: "Section", Row: "Row", Seat: "Seat", Area: "Area", Holder: "Name", TicketType: "Ticket",
		Price: "Price", Doors: "Doors", Reference: "Booking", Ticket: "Ticket %d of %d",
		Note:    "Show this code at the door, on paper or on a screen. It admits once: whoever comes first with it is let in. Do not share a picture of it.",
		Decimal: ".", Thousand: ",",
		Date: func(t time.Time) string { return t.Format("Monday, 2 January 2006") },
	}
	German = Labels{
		Admit: "Eintritt für eine Person", Section: "Bereich", Row: "Reihe", Seat: "Platz", Area: "Bereich", Holder: "Name", TicketType: "Ticket",
		Price: "Preis", Doors: "Einlass", Reference: "Buchung", Ticket: "Ticket %d von %d",
		Note:    "Bitte am Einlass vorzeigen, auf Papier oder auf dem Bildschirm. Der Code gilt einmal: Wer zuerst damit kommt, wird eingelassen. Bitte kein Bild davon weitergeben.",
		Decimal: ",", Thousand: ".",
		Date: dated("%[1]s, %[2]d. %[3]s %[4]d",
			"Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag",
			"Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
	}
	Arabic = Labels{
		Admit: "دخول لشخص واحد", Section: "القسم", Row: "الصف", Seat: "المقعد", Area: "المنطقة", Holder: "الاسم", TicketType: "التذكرة",
		Price: "السعر", Doors: "فتح الأبواب", Reference: "رقم الحجز", Ticket: "التذكرة %d من %d",
		Note:    "يرجى إبراز هذا الرمز عند الباب، مطبوعًا أو على الشاشة. الرمز صالح لمرة واحدة: من يصل به أولًا يدخل. لا تشارك صورته مع أحد.",
		Decimal: ".", Thousand: ",",
		Date: dated("%[1]s، %[2]d %[3]s %[4]d",
			"الأحد الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت",
			"يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر"),
	}
)

func dated(format, weekdays, months string) func(time.Time) string {
	days, names := strings.Fields(weekdays), strings.Fields(months)
	return func(t time.Time) string {
		return fmt.Sprintf(format, days[t.Weekday()], t.Day(), names[t.Month()-1], t.Year())
	}
}

var (
	spoken  = language.NewMatcher([]language.Tag{language.English, language.German, language.Arabic})
	written = []Labels{English, German, Arabic}
)

// LabelsFor are the labels in the language, a BCP 47 tag, that is closest to
// the one asked for: English for one that is not here.
func LabelsFor(lang string) Labels {
	tag, err := language.Parse(lang)
	if err != nil {
		return English
	}
	_, index, _ := spoken.Match(tag)
	return written[index]
}

// rightToLeft says whether a language is written so.
func rightToLeft(lang string) bool {
	script, _ := language.Make(lang).Script()
	switch script.String() {
	case "Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg":
		return true
	}
	return false
}

// amount writes a sum of minor units: 1234567 of EUR are 12,345.67 EUR.
func (l Labels) amount(minor int64, currency string) string {
	number, negative := strings.CutPrefix(boxoffice.Decimal(minor, currency), "-")
	units, fraction, some := strings.Cut(number, ".")
	for i := len(units) - 3; i > 0; i -= 3 {
		units = units[:i] + l.Thousand + units[i:]
	}
	if some {
		units += l.Decimal + fraction
	}
	if negative {
		units = "−" + units
	}
	return units + " " + currency
}
